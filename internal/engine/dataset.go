package engine

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

// closing is the time that a data set's stores may take to close.
const closing = 15 * time.Second

// A dataset is an open data set that connections share. Its goroutine opens it, and closes it when
// the last client has left.
type dataset struct {
	engine  *engine
	key     string
	request Request
	ctx     context.Context // ends with the last client
	cancel  context.CancelFunc
	ready   chan struct{} // closed when data or err is set
	began   time.Time     // to open

	data    *Data
	rows    rows // by number
	menders menders
	audits  audits
	asked   atomic.Bool // for documents
	summary wire.Opened
	err     error

	// Guarded by the engine's mutex.
	users  int
	groups map[string]*group

	watchers map[*func(wire.Progress)]bool // of clients that wait for it to open
	last     *wire.Progress                // that they got
}

func newDataset(e *engine, key string, r Request) *dataset {
	d := &dataset{
		engine: e, key: key, request: r, ready: make(chan struct{}), began: time.Now(), groups: map[string]*group{}, watchers: map[*func(wire.Progress)]bool{},
	}
	d.ctx, d.cancel = context.WithCancel(e.ctx)
	d.request.Note, d.request.Found = d.note, d.found
	return d
}

// found passes the inventory so far to the other nodes.
func (d *dataset) found(inventory func(most int64) ([]byte, error)) {
	if err := writeFound(d.request.CountShare.Dir, inventory); err != nil {
		d.engine.Logger.Warn("other nodes cannot count", "error", err)
	}
}

func (d *dataset) note(text string) {
	for _, r := range d.engine.runs() {
		if r.session.dataset == d {
			r.note(wire.Note{Level: "warning", Text: wire.Redact(text), Once: wire.Redact(text)})
		}
	}
}

// serve opens the data set, waits until it has no client, and closes it.
func (d *dataset) serve() {
	defer d.retire()
	if file := d.request.inventory; file != "" {
		defer func() { _ = os.Remove(file) }() // it may be gone already
	}
	d.data, d.err = d.open()
	log := d.engine.Logger.With("addresses", d.request.Spec.AllAddresses())
	if d.err != nil {
		log.Error("open failed", "error", d.err)
		d.forget()
		close(d.ready)
		return
	}
	d.summary = describe(d.data)
	log.Info("opened", "rows", d.summary.Rows, "shards", d.summary.Shards, "took", time.Since(d.began))
	close(d.ready)
	<-d.ctx.Done()
	for _, r := range d.engine.runs() {
		if r.session.dataset == d {
			<-r.done
		}
	}
	d.forget()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), closing)
	defer cancel()
	err := errors.Join(d.rows.close(), d.data.Dataset.Close())
	if d.data.Close != nil {
		err = errors.Join(err, d.data.Close(ctx))
	}
	if err != nil {
		log.Warn("closing a data set", "error", err)
		return
	}
	log.Info("closed")
}

func (d *dataset) open() (data *Data, err error) {
	defer wire.Recovered(&d.engine.Logger, &err)
	if d.request.Inventory, err = readInventory(d.request.inventory); err != nil {
		return nil, err
	}
	if d.request.inventory != "" {
		d.engine.Logger.Info("opening by what another node found", "file", d.request.inventory, "gone", d.request.Inventory == nil)
	}
	return d.engine.Open(d.ctx, d.request, d.progress)
}

// noun returns the name of the data set's samples in texts.
func (d *dataset) noun() string {
	switch spec := d.request.Spec; {
	case spec.Pack != nil:
		return "blocks"
	case spec.Bucket != nil:
		return "batches"
	}
	return "rows"
}

// forget makes the next client open the data set again.
func (d *dataset) forget() {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	d.forgetLocked()
}

func (d *dataset) forgetLocked() {
	if d.engine.datasets[d.key] == d {
		delete(d.engine.datasets, d.key)
	}
}

func (d *dataset) wait(ctx context.Context, progress func(wire.Progress)) error {
	mu := &d.engine.mu
	mu.Lock()
	d.watchers[&progress] = true
	if d.last != nil {
		progress(*d.last)
	}
	mu.Unlock()
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		delete(d.watchers, &progress)
	}()
	select {
	case <-d.ready:
		return d.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *dataset) progress(p wire.Progress) {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	d.last = &p
	for tell := range d.watchers {
		(*tell)(p)
	}
}

// release undoes acquire. The last user's release ends the data set. The engine forgets it at once,
// so the next client opens it again.
func (d *dataset) release() {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	if d.users--; d.users > 0 {
		return
	}
	d.forgetLocked()
	d.cancel()
}

// group returns the sessions of a trainer's data set object. The caller has acquired d, and leaves
// the group instead of releasing d.
func (d *dataset) group(name string) *group {
	d.engine.mu.Lock()
	defer d.engine.mu.Unlock()
	g := d.groups[name]
	if g == nil {
		g = &group{dataset: d, name: name, sessions: map[int]*session{}}
		d.groups[name] = g
	}
	g.users++
	return g
}

// A group is the sessions of one data set object of a trainer, one for each rank. It lives as long
// as the object has a connection.
type group struct {
	dataset *dataset
	name    string

	// Guarded by the engine's mutex.
	users    int
	sessions map[int]*session
}

func (g *group) session(rank int) *session {
	e := g.dataset.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	s := g.sessions[rank]
	if s == nil {
		s = newSession(g.dataset, g.name, rank)
		g.sessions[rank] = s
	}
	return s
}

// leave undoes dataset.group.
func (g *group) leave() {
	e := g.dataset.engine
	e.mu.Lock()
	g.users--
	last := g.users == 0
	if last {
		delete(g.dataset.groups, g.name)
	}
	e.mu.Unlock()
	if last {
		for _, s := range g.sessions { // no client is left that could add one
			s.close()
		}
		e.agreed.forget(g)
	}
	g.dataset.release()
}

func (d *dataset) isReady() bool {
	select {
	case <-d.ready:
		return true
	default:
		return false
	}
}

// retire keeps the traffic of a closed data set.
func (d *dataset) retire() {
	e := d.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.living, d)
	d.addTraffic(e.traffic)
	e.traffic.Retire()
}

// addTraffic adds the requests so far, once the data set is open.
func (d *dataset) addTraffic(sum shard.Totals) {
	if d.isReady() && d.data != nil {
		sum.Add(d.data.Stores.ByStore())
	}
}

// fewAddresses is how many addresses of a data set a snapshot names.
const fewAddresses = 8

// addresses returns the first addresses, without secrets.
func (d *dataset) addresses() []string {
	all := d.request.Spec.AllAddresses()
	return wire.RedactAddresses(all[:min(len(all), fewAddresses)])
}

// progressLocked returns how far the opening is. The engine's mutex is held.
func (d *dataset) progressLocked() wire.Progress {
	if d.last == nil {
		return wire.Progress{}
	}
	return *d.last
}

// menders makes the images of a data set that devices refuse.
type menders struct {
	once   sync.Once
	mender *loader.ImageMender
	err    error
}

func (m *menders) open(d *Data) (*loader.ImageMender, error) {
	m.once.Do(func() { m.mender, m.err = loader.NewImageMender(d.Dataset, d.Loader) })
	return m.mender, m.err
}
