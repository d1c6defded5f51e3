package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/iteration"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
)

// A buffer is the device's memory of one batch after the other, and the event behind the copy to
// it.
type buffer struct {
	memory  DeviceMemory
	arrived Event
	after   Event // behind the consumer's last use of it; nil until a consumer has one
	pending bool  // the next copy has to await after
	lost    bool  // a copy to it may not have ended: it is freed when the stream is gone, and not used again
}

// buffers are the device buffers of a transfer, a fixed number; each gets its memory on first use.
type buffers struct {
	device  Device
	free    chan *buffer // has room for all
	dropped atomic.Int64 // with batches that became garbage
	waited  *atomic.Int64

	mu      sync.Mutex
	largest int
	lost    []*buffer
	closed  bool

	abandoned bool // what is lost is not freed
}

func newBuffers(d Device, n int, waited *atomic.Int64) *buffers {
	p := &buffers{device: d, free: make(chan *buffer, n), waited: waited}
	for range n {
		p.free <- &buffer{}
	}
	return p
}

// take waits for a buffer and makes it at least n bytes large. A wait that can never end, because
// the consumer has lost all batches, is a loader.DroppedError.
func (p *buffers) take(ctx context.Context, n int) (*buffer, error) {
	b, err := p.next(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.largest = max(p.largest, n+n/8)
	want := (max(p.largest, 1) + minPiece - 1) / minPiece * minPiece
	p.mu.Unlock()
	if err := p.fit(b, n, want); err != nil {
		p.put(b)
		return nil, err
	}
	return b, nil
}

func (p *buffers) next(ctx context.Context) (*buffer, error) {
	select {
	case b := <-p.free:
		return b, nil
	default:
	}
	begin := time.Now()
	defer func() { p.waited.Add(int64(time.Since(begin))) }()
	// Every buffer is out: each is a batch's, on its way or with the consumer.
	watched, stop := iteration.Watch(ctx, func() bool { return true }, func() bool { return int(p.dropped.Load()) == cap(p.free) })
	select {
	case b := <-p.free:
		stop()
		return b, nil
	case <-watched.Done():
		if stop() {
			return nil, &loader.DroppedError{Batches: p.dropped.Load()}
		}
		return nil, cause.Of(ctx, ErrClosed)
	}
}

// fit gives a buffer memory of want bytes when it has less than n.
func (p *buffers) fit(b *buffer, n, want int) error {
	if err := p.event(&b.arrived); err != nil {
		return fmt.Errorf("make an event: %w", err)
	}
	if b.memory != nil && b.memory.Len() >= n {
		return nil
	}
	if b.memory != nil {
		if err := p.empty(b); err != nil {
			return err
		}
	}
	m, err := p.device.Alloc(want)
	if err != nil {
		return fmt.Errorf("allocate %v (fewer batches in flight or with the consumer, or a smaller batch_size take less): %w", mem.Bytes(want), err)
	}
	b.memory = m
	return nil
}

// event makes an event that a buffer does not have yet.
func (p *buffers) event(e *Event) error {
	if *e != nil {
		return nil
	}
	made, err := p.device.NewEvent()
	if err == nil {
		*e = made
	}
	return err
}

// empty frees a buffer's memory when what the consumer did with it is done.
func (p *buffers) empty(b *buffer) error {
	var errs []error
	if b.pending {
		b.pending = false
		if err := b.after.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("wait for the consumer of a batch: %w", err))
		}
	}
	if b.memory != nil {
		if err := b.memory.Free(); err != nil {
			errs = append(errs, fmt.Errorf("free the memory of a batch: %w", err))
		}
		b.memory = nil
	}
	return errors.Join(errs...)
}

// put takes a buffer back.
func (p *buffers) put(b *buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case b.lost && p.abandoned:
	case p.closed:
		_ = p.drop(b) // there is no consumer left to report it to
	case b.lost:
		p.lost = append(p.lost, b)
	default:
		p.free <- b
	}
}

// drop frees all that a buffer has.
func (p *buffers) drop(b *buffer) error {
	errs := []error{p.empty(b)}
	for _, e := range []Event{b.arrived, b.after} {
		if e == nil {
			continue
		}
		if err := e.Free(); err != nil {
			errs = append(errs, fmt.Errorf("free an event: %w", err))
		}
	}
	b.arrived, b.after = nil, nil
	if err := errors.Join(errs...); err != nil {
		return failed(p.device, "give memory back", err)
	}
	return nil
}

// close frees what no batch has; what batches have is freed with them. The stream is gone.
func (p *buffers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var first error // the others say the same
	drop := func(b *buffer) {
		if err := p.drop(b); first == nil {
			first = err
		}
	}
	for _, b := range p.lost {
		drop(b)
	}
	for len(p.free) > 0 {
		drop(<-p.free)
	}
	p.lost = nil
	return first
}

// forget takes back the buffer of a batch that became garbage before it was released. It is freed
// with the stream: there is no telling its last use.
func (p *buffers) forget(b *buffer) {
	p.dropped.Add(1)
	b.lost = true
	p.put(b)
}

// record makes the buffer's next copy await what s has been given.
func (p *buffers) record(b *buffer, s Stream) error {
	if err := p.event(&b.after); err != nil {
		return err
	}
	if err := s.Record(b.after); err != nil {
		return err
	}
	b.pending = true
	return nil
}

// abandon is close for a device that does not answer: what it may be writing to is not freed.
func (p *buffers) abandon() error {
	p.mu.Lock()
	p.lost, p.abandoned = nil, true
	p.mu.Unlock()
	return p.close()
}
