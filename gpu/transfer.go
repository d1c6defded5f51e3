package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/loader"
)

// A Transfer copies batches to a device in order, on a stream of its own. One goroutine calls Send
// and Close; the other methods are safe for concurrent use.
type Transfer struct {
	device  Device
	name    string
	stream  Stream
	buffers *buffers
	meters  *meters
	columns columnLayout

	copies chan transit // in the order of the stream; has room for all buffers
	waiter sync.WaitGroup

	mu     sync.Mutex
	broken error           // after it nothing is sent any more
	parked []*loader.Batch // whose copies may not have ended
	closed bool
}

// A transit is a copy on its way.
type transit struct {
	host   *loader.Batch
	device *Batch
}

// NewTransfer opens a stream. buffers is the number of device batches that may exist at once: in
// flight, or with the consumer and not yet released. The device's memory is allocated as batches
// come.
func NewTransfer(d Device, buffers int) (*Transfer, error) {
	if buffers < 1 {
		return nil, fmt.Errorf("gpu: a transfer must have at least 1 buffer, got %d", buffers)
	}
	return newTransfer(d, buffers, &meters{})
}

func newTransfer(d Device, buffers int, m *meters) (*Transfer, error) {
	s, err := d.NewStream()
	if err != nil {
		return nil, failed(d, "open a stream", err)
	}
	t := &Transfer{
		device: d, name: d.Info().Name, stream: s, buffers: newBuffers(d, buffers, &m.room), meters: m, copies: make(chan transit, buffers),
	}
	t.waiter.Go(t.wait)
	return t, nil
}

// Send starts the copy of a batch whose memory belongs to a Ring of the same device, and takes
// ownership of the batch: it is released when the copy has ended, or on an error. Send waits for a
// buffer while the maximum of device batches exist.
func (t *Transfer) Send(ctx context.Context, b *loader.Batch) (*Batch, error) {
	d, op, err := t.send(ctx, b)
	if err == nil {
		return d, nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return nil, cause.Of(ctx, ErrClosed)
	}
	return nil, &Error{Device: t.name, Op: op, Epoch: b.Epoch, Step: b.Step, Err: err}
}

// send returns what it was doing too.
func (t *Transfer) send(ctx context.Context, b *loader.Batch) (d *Batch, op string, err error) {
	parked := false
	defer func() {
		if err != nil && !parked {
			b.Release()
		}
	}()
	if err := t.state(); err != nil {
		return nil, "copy a batch", err
	}
	s, ok := b.Memory().(*slot)
	if !ok || s.ring.name != t.name {
		return nil, "copy a batch", errors.New("its memory is not of a ring of this device; give the ring to the loader as its Allocator")
	}
	copied, err := t.columns.settle(b, s)
	t.meters.hostCopied.Add(int64(copied))
	if err != nil {
		return nil, "lay out a batch", err
	}
	buf, err := t.buffers.take(ctx, s.bytes())
	if err != nil {
		return nil, "take memory for a batch", err
	}
	begun, op, err := t.copy(s, buf)
	if err != nil {
		if parked = begun; begun {
			buf.lost = true
			t.park(b, err)
		}
		t.buffers.put(buf)
		return nil, op, err
	}
	d = &Batch{
		Data: b.Data, Rows: b.Rows, Valid: b.Valid, Epoch: b.Epoch, Step: b.Step, Position: b.Position, State: b.State,
		buffers: t.buffers, buffer: buf, arrived: make(chan struct{}),
	}
	d.holds.Store(2)
	d.Columns = t.columns.onDevice(d, b.Columns, buf.memory.Pointer())
	t.meters.flying.Add(1)
	t.copies <- transit{host: b, device: d}
	return d, "", nil
}

// state is why nothing can be sent.
func (t *Transfer) state() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	return t.broken
}

// copy queues the copy of a slot's pieces on the stream, followed by an event. begun reports that a
// part of it may be in flight.
func (t *Transfer) copy(s *slot, to *buffer) (begun bool, op string, err error) {
	defer func(begin time.Time) { t.meters.sending.Add(int64(time.Since(begin))) }(time.Now())
	if to.pending {
		if err := t.stream.Await(to.after); err != nil {
			return false, "await the consumer of an earlier batch", err
		}
	}
	at := 0
	for _, p := range s.pieces {
		if p.used == 0 {
			continue
		}
		if err := t.stream.ToDevice(to.memory, at, p.memory.Bytes()[:p.used]); err != nil {
			return begun, "copy a batch", err
		}
		begun = true
		at += p.used
		t.meters.copies.Add(1)
	}
	if err := t.stream.Record(to.arrived); err != nil {
		return begun, "record the event behind a copy", err
	}
	to.pending = false
	t.meters.copied.Add(int64(at))
	return begun, "", nil
}

// park keeps a batch that the device may still read until the stream is gone. Nothing is sent after
// it.
func (t *Transfer) park(b *loader.Batch, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parked = append(t.parked, b)
	if t.broken == nil {
		t.broken = err
	}
}

// wait is the goroutine that waits for the copies, in order, and gives the slots back.
func (t *Transfer) wait() {
	for f := range t.copies {
		err := f.device.buffer.arrived.Wait()
		t.meters.flying.Add(-1)
		if err != nil {
			err = &Error{Device: t.name, Op: "wait for a copy", Epoch: f.device.Epoch, Step: f.device.Step, Err: err}
			f.device.buffer.lost = true
			t.park(f.host, err)
		} else {
			t.meters.arrived.Add(1)
			f.host.Release()
		}
		f.device.arrive(err)
	}
}

// Close waits for the copies on their way and gives stream and memory back. Batches that were not
// released stay valid until they are. It may be called more than once.
func (t *Transfer) Close() error {
	t.mu.Lock()
	again := t.closed
	t.closed = true
	t.mu.Unlock()
	if again {
		return nil
	}
	close(t.copies)
	t.waiter.Wait()
	var syncing error
	if len(t.parked) > 0 {
		if syncing = t.stream.Sync(); syncing != nil {
			syncing = failed(t.device, "wait for what could not be waited for before", syncing)
		}
	}
	closing := t.stream.Close()
	if closing != nil {
		closing = failed(t.device, "close a stream", closing)
	}
	if syncing != nil && closing != nil {
		// The device may still read and write: what it may touch is not given back.
		return errors.Join(syncing, closing, t.buffers.abandon(), fmt.Errorf("gpu: %d batches are lost with it", len(t.parked)))
	}
	for _, b := range t.parked {
		b.Release()
	}
	t.parked = nil
	return errors.Join(syncing, closing, t.buffers.close())
}
