package engine

import (
	"cmp"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A client is a connection's use of an open data set: the sessions of its data set object, and a
// participant of one iteration at a time. Only the goroutine of the connection calls its methods.
type client struct {
	engine      *engine
	hello       wire.Hello
	group       *group
	participant *participant // of the last iteration that it joined
	mapping     *mapping     // of rows by number; nil before the first MAP
	closed      bool
}

// join starts an iteration or takes part in one, whose results go to the consumer.
func (c *client) join(j wire.Join, to consumer) error {
	j.WorldSize = max(1, j.WorldSize)
	switch {
	case j.Rank < 0 || j.Rank >= j.WorldSize:
		return wire.ValueError("rank must be from 0 to %d in a world of %d, got %d", j.WorldSize-1, j.WorldSize, j.Rank)
	case j.Worker < 0 || j.Worker >= max(1, j.Workers):
		return wire.ValueError("worker must be from 0 to %d of %d workers, got %d", max(1, j.Workers)-1, max(1, j.Workers), j.Worker)
	case j.ReplicaCount() > maxReplicas:
		return wire.ValueError("at most %d replicas of a rank share a machine's batches, got %d", maxReplicas, j.Replicas)
	case j.Replica < 0 || j.Replica >= j.ReplicaCount():
		return wire.ValueError("replica must be from 0 to %d of %d replicas, got %d", j.ReplicaCount()-1, j.ReplicaCount(), j.Replica)
	case j.Outputs < 0 || j.Outputs > maxOutputs:
		return wire.ValueError("outputs must be from 0 to %d, got %d", maxOutputs, j.Outputs)
	case j.Iteration == "":
		return wire.ProtocolError("JOIN without an iteration")
	case c.closed:
		return wire.ErrEnds
	case c.mapping != nil:
		return wire.ProtocolError("JOIN on a connection that had a MAP")
	case c.participant != nil && !c.participant.isOver():
		return wire.ProtocolError("JOIN before the END of the iteration before")
	}
	if err := j.Validate(); err != nil {
		return err
	}
	c.engine.remember()
	p := &participant{join: j, consumer: to, client: c, session: c.group.session(j.Rank)}
	if err := p.session.take(p); err != nil {
		return err
	}
	c.participant = p
	return nil
}

// leave ends the participant. The consumer gets one end, also without an iteration.
func (c *client) leave(to consumer) {
	if c.participant == nil || !c.participant.leave() {
		to.end(wire.End{Left: true})
	}
}

// close is called when the connection has ended. No call of the consumer follows.
func (c *client) close() {
	if c.closed {
		return
	}
	c.closed = true
	if c.mapping != nil {
		c.mapping.end(errGone)
	}
	if c.participant != nil {
		c.participant.disconnect()
	}
	c.group.leave()
	c.engine.agreed.remove(c.hello.Job)
}

func (c *client) setEpoch(e wire.SetEpoch) (wire.Session, error) {
	if e.Epoch < 0 {
		return wire.Session{}, wire.ValueError("epoch must be at least 0, got %d", e.Epoch)
	}
	return c.group.session(e.Rank).setEpoch(e), nil
}

func (c *client) waited(w wire.Waited) {
	c.group.session(w.Rank).waited(w)
	c.engine.remember()
}

// divide sets the share of the images that the batches of this client leave to the engine.
func (c *client) divide(s wire.Share) {
	switch {
	case c.mapping != nil && c.mapping.split != nil:
		c.mapping.split.SetShare(s.ImageCPUShare)
	case c.participant != nil:
		c.participant.divide(s.ImageCPUShare)
	}
}

// mend makes an image that the device of a trainer refuses.
func (c *client) mend(s *session, image loader.RefusedImage) (r wire.Session, err error) {
	d := c.group.dataset
	m, err := d.menders.open(d.data)
	if err != nil {
		return r, err
	}
	pixels, loss, err := m.Make(image)
	if err != nil {
		return r, err
	}
	s.refused(loss)
	switch {
	case loss == nil:
		r.Image = pixels
	case c.mapping != nil:
		c.mapping.taker.Lose(*loss, 1)
	default:
		err = s.lose(*loss)
	}
	return r, err
}

func (c *client) choose(s wire.Select) (wire.Selected, error) {
	data := c.group.dataset.data
	if data.Choose == nil {
		return wire.Selected{}, wire.ProtocolError("SELECT, and this engine writes no lists of rows")
	}
	rows, err := data.Choose(s.Bits, s.Save)
	return wire.Selected{Rows: rows, AllRows: data.Dataset.NumRows()}, err
}

// mostManifest is how many bytes of a list of shards a message holds in base64.
const mostManifest = wire.MaxPayload/4*3 - 64<<10

// manifest returns the list of shards.
func (c *client) manifest() (r wire.Session, err error) {
	r.Manifest, err = c.group.dataset.data.Dataset.SavedManifest().Compressed()
	if err == nil && len(r.Manifest) > mostManifest {
		return wire.Session{}, wire.ValueError("the list of shards has %v, and a message holds %v: save it with shardfeed plan --save-manifest",
			mem.Bytes(len(r.Manifest)), mem.Bytes(mostManifest))
	}
	return r, err
}

func (c *client) ask(a wire.Ask) (wire.Session, error) {
	a.WorldSize = max(1, a.WorldSize)
	if a.Rank < 0 || a.Rank >= a.WorldSize {
		return wire.Session{}, wire.ValueError("rank must be from 0 to %d in a world of %d, got %d", a.WorldSize-1, a.WorldSize, a.Rank)
	}
	if a.Inventory != "" {
		return c.saveInventory(a.Inventory, a.InventoryMost)
	}
	if a.Documents != "" {
		return c.saveDocuments(a.Documents, a.Library)
	}
	if a.Manifest {
		return c.manifest()
	}
	if a.Audit != nil {
		return c.audit(*a.Audit, a.WorldSize, a.Replicas)
	}
	if a.Latest != nil {
		return c.latest(*a.Latest)
	}
	s := c.group.session(a.Rank)
	if a.Refused != nil {
		return c.mend(s, *a.Refused)
	}
	if a.Verdict != nil {
		return s.verdict(*a.Verdict)
	}
	if a.Locate != nil {
		return s.locate(a.Locate)
	}
	return s.ask(a)
}

// audit adds records of ranks. The last rank of this node gets a verdict.
func (c *client) audit(a wire.Audit, world, replicas int) (r wire.Session, err error) {
	d := c.group.dataset
	local := shuffle.LocalRanks(c.hello.LocalWorldSize, max(1, replicas))
	r.Audit, r.Here, err = d.audits.add(d.data.Dataset, d.noun(), a, world, cmp.Or(local, world))
	return r, err
}

// latest returns the name of the snapshot that the table has now: the first rank to ask finds it
// out, and all ranks of this machine get the same.
func (c *client) latest(a wire.Latest) (wire.Session, error) {
	d := c.group.dataset
	if d.data.Latest == nil {
		return wire.Session{}, wire.ProtocolError("ASK for the latest snapshot, and this engine knows no tables")
	}
	e, key := c.engine, jobOf(c.hello.Job)+a.Name
	e.mu.Lock()
	l, first := e.latest[key], false
	if l == nil {
		l, first = &latest{ready: make(chan struct{}), err: wire.ErrEnds}, true
		e.latest[key] = l
	}
	e.mu.Unlock()
	if first {
		l.find(func() (string, error) { return d.data.Latest(d.ctx, a.Snapshot) })
		if l.err != nil { // the next ask tries again
			e.mu.Lock()
			delete(e.latest, key)
			e.mu.Unlock()
		}
	}
	<-l.ready
	return wire.Session{Latest: l.name}, l.err
}
