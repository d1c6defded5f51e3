package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	maxTakes    = 64                  // TAKEs of a connection that are not answered
	maxTakeRows = wire.MaxPayload / 8 // rows of all of them
	rowBytes    = 8                   // of a row number in TAKE
	mapPrefetch = loader.DefaultPrefetch
)

// rows are the rows by number of a data set. All its clients share the memory of decoded units.
type rows struct {
	mu    sync.Mutex
	taker *iterable.Taker // nil before the first MAP
}

// open returns the taker, and makes it at the first call.
func (r *rows) open(d *Data) (*iterable.Taker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taker != nil {
		return r.taker, nil
	}
	o, err := mapOptions(d).TakerOptions(d.Dataset)
	if err != nil {
		return nil, err
	}
	r.taker, err = d.Dataset.Taker(o)
	return r.taker, err
}

// mapOptions configures batches of rows by number, without the parts that differ by client.
func mapOptions(d *Data) loader.MapOptions {
	how := d.Loader
	return loader.MapOptions{
		Memory: d.MapMemory, Workers: max(1, how.Workers), NaN: how.NaN, Fill: how.Fill, Features: how.Features, Pad: how.Pad,
		Images: how.Images, Boxes: how.Boxes, ImageDecoder: how.ImageDecoder, ImageParallel: how.ImageParallel,
	}
}

// close is called when the data set has no client any more.
func (r *rows) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taker == nil {
		return nil
	}
	return r.taker.Close()
}

// A mapping answers a client's TAKEs, in their order. A goroutine of its own sends the answers.
type mapping struct {
	taker  *iterable.Taker
	rows   *loader.Map
	split  *loader.ImageSplit // nil: the trainer gets all images as tensors
	queue  chan []int64
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when no call of the consumer follows

	mu      sync.Mutex
	pending []int // rows of each TAKE that is not answered
	sum     int   // of them
}

// newMapping starts to answer.
func newMapping(d *dataset, to consumer, share *float64) (*mapping, error) {
	taker, err := d.rows.open(d.data)
	if err != nil {
		return nil, err
	}
	how := d.data.Loader
	ring, err := to.ring(ringNeed{slots: slotsOf(d.data, how.Workers, 1)})
	if err != nil {
		return nil, err
	}
	m := &mapping{taker: taker, split: newSplit(share), queue: make(chan []int64, maxTakes), done: make(chan struct{})}
	o := mapOptions(d.data)
	o.ImageSplit = m.split
	o.Taker, o.Allocator, o.PrefetchFactor, o.Memory = taker, ring, mapPrefetch, 0 // the memory is the taker's
	m.rows, err = loader.NewMap(d.data.Dataset, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	m.cancel = cancel
	go m.serve(ctx, d, to)
	return m, nil
}

// serve answers until ctx ends.
func (m *mapping) serve(ctx context.Context, d *dataset, to consumer) {
	defer close(m.done)
	for b, err := range m.rows.Batches(ctx, m.queued(ctx)) {
		if ctx.Err() != nil {
			if b != nil {
				b.Release()
			}
			break
		}
		m.answered()
		if err == nil {
			err = to.deliver(b)
		}
		if err == nil {
			continue
		}
		if kind := wire.KindOf(err); kind == wire.KindData || kind == wire.KindNotFound {
			d.forget() // the next client lists the shards again
		}
		if !errors.Is(err, errGone) {
			d.engine.Logger.Error("rows by number failed", "error", err)
			to.fail(err)
		}
	}
}

// queued are the TAKEs, until ctx ends.
func (m *mapping) queued(ctx context.Context) func(func([]int64) bool) {
	return func(yield func([]int64) bool) {
		for {
			select {
			case rows := <-m.queue:
				if !yield(rows) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// take queues a TAKE. The trainer has to wait for answers when it has sent too many.
func (m *mapping) take(payload []byte) error {
	n := len(payload) / rowBytes
	if len(payload)%rowBytes != 0 {
		return wire.ProtocolError("TAKE has %d bytes, not a multiple of %d", len(payload), rowBytes)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) == maxTakes || m.sum+n > maxTakeRows && len(m.pending) > 0 {
		return wire.ProtocolError("TAKE of %d rows while %d of %d rows are not answered; at most %d may be, of %d rows",
			n, len(m.pending), m.sum, maxTakes, maxTakeRows)
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(binary.LittleEndian.Uint64(payload[i*rowBytes:]))
	}
	m.pending, m.sum = append(m.pending, n), m.sum+n
	m.queue <- rows // there is room for all that are pending
	return nil
}

// answered counts the oldest TAKE as answered.
func (m *mapping) answered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum -= m.pending[0]
	m.pending = m.pending[1:]
}

// end ends the answers, and waits until the last is sent.
func (m *mapping) end(why error) {
	m.cancel(why)
	<-m.done
	_ = m.rows.Close() // its error counts unreleased batches, which cannot exist
}

// openMap starts to answer TAKEs.
func (c *client) openMap(a wire.Map, to consumer) (wire.Mapped, error) {
	if c.participant != nil {
		return wire.Mapped{}, wire.ProtocolError("MAP on a connection that had a JOIN")
	}
	if c.closed {
		return wire.Mapped{}, wire.ErrEnds
	}
	if err := a.Validate(); err != nil {
		return wire.Mapped{}, err
	}
	d := c.group.dataset
	if c.mapping == nil {
		m, err := newMapping(d, to, a.ImageCPUShare)
		if err != nil {
			return wire.Mapped{}, err
		}
		c.mapping = m
	}
	if !divides(c.mapping.split, a.ImageCPUShare) {
		return wire.Mapped{}, wire.ProtocolError("a second MAP with another image_cpu_share")
	}
	if a.Epoch != nil {
		c.mapping.rows.SetEpoch(*a.Epoch)
	}
	taker := c.mapping.taker
	r := wire.Mapped{Rows: taker.Len(), Memory: taker.Room(), Decoded: d.data.Dataset.DecodedBytes(), Schema: d.data.nodes(a.ImageCPUShare)}
	for _, row := range a.Locate {
		at, err := taker.Locate(d.ctx, row)
		if err != nil {
			return wire.Mapped{}, err
		}
		path := shard.Redact(d.data.Dataset.Manifest().Shards()[at.Shard].URI)
		r.Places = append(r.Places, wire.Place{Path: path, RowGroup: at.RowGroup, Row: at.Lo})
	}
	return r, nil
}

func (c *client) take(payload []byte) error {
	if c.mapping == nil {
		return wire.ProtocolError("TAKE before MAPPED")
	}
	return c.mapping.take(payload)
}
