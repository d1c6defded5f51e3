package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Loader makes batches of a data set on a device. Its methods are safe for concurrent use.
type Loader struct {
	dataset *iterable.Dataset
	device  Device
	o       Options
	length  int64
	ring    *Ring
	meters  *meters

	mu      sync.Mutex
	pass    *pass // the iteration that has not ended
	state   *shuffle.State
	before  loader.Stats // of the iterations that have ended
	unheard []error      // of the ends of iterations that somebody had left
	closed  bool
}

// New checks the options against the data set and allocates the ring. It reads nothing; data set
// and device must stay open until Close.
func New(ds *iterable.Dataset, d Device, o Options) (*Loader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	first, err := loader.New(ds, o.Loader) // for what it refuses, and its length
	if err != nil {
		return nil, err
	}
	length := first.Len()
	if err := first.Close(); err != nil {
		return nil, err
	}
	size := o.SlotBytes
	if size == 0 {
		size = int(loader.BatchBytes(ds, o.Loader))
	}
	ring, err := NewRing(d, RingOptions{
		Slots: o.Loader.MaxBatches, SlotBytes: size, RequirePinned: o.RequirePinned, Pageable: o.Events.Pageable,
	})
	if err != nil {
		return nil, err
	}
	return &Loader{dataset: ds, device: d, o: o, length: length, ring: ring, meters: &meters{}, state: o.Loader.State}, nil
}

// Len is the number of batches of a whole epoch, the same on every rank.
func (l *Loader) Len() int64 { return l.length }

// Batches goes through Options.Loader.Epochs epochs, as loader.Loader does: it begins after the
// last batch that was handed out before. The batches that are handed out are on the device.
//
// Each batch is the consumer's until its Release, which may come after the iteration and in any
// order. An error is the last element; it says where it happened. Leaving the loop, in whatever
// way, ends all goroutines and waits for the copies on their way, whose batches the next iteration
// makes again.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		p, err := l.begin(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		left := true
		defer func() {
			if err := l.end(p); err != nil && left {
				l.remember(err)
			}
		}()
		for {
			s, err := p.next()
			if errors.Is(err, io.EOF) {
				left = false
				if err = l.end(p); err == nil {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(l.give(s), nil) {
				return
			}
		}
	}
}

// begin starts a pass.
func (l *Loader) begin(ctx context.Context) (*pass, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if l.pass != nil {
		return nil, loader.ErrBusy
	}
	o := l.o.Loader
	o.Allocator, o.Timeout = l.ring, 0 // the consumer's wait ends by it, not that of who sends
	if l.state != nil {
		o.State, o.Epoch = l.state, 0
	}
	host, err := loader.New(l.dataset, o)
	if err != nil {
		return nil, err
	}
	transfer, err := newTransfer(l.device, TransferOptions{Buffers: l.o.InFlight + l.o.Held}, l.meters)
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	l.pass = newPass(ctx, host, transfer, l.meters, l.o)
	return l.pass, nil
}

// end closes a pass. It is called by the goroutine that iterates, any number of times.
func (l *Loader) end(p *pass) error {
	err := p.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pass == p {
		l.pass, l.before = nil, plus(l.before, p.loader.Stats())
	}
	return err
}

// remember keeps an error for Close when there is no iteration to return it from.
func (l *Loader) remember(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard = append(l.unheard, err)
}

// give makes a batch the consumer's.
func (l *Loader) give(s sent) *Batch {
	s.batch.give(&l.meters.held)
	l.meters.batches.Add(1)
	l.meters.rows.Add(int64(s.batch.Rows))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s.state
	return s.batch
}

// State resumes after the last batch that was handed out, not after batches in flight; nil before
// the first, unless the options gave one. See loader.Loader for batches out of order.
func (l *Loader) State() *shuffle.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return nil
	}
	s := *l.state
	return &s
}

// Close ends an iteration that is still going on, whose consumer gets ErrClosed, waits for its
// goroutines and frees the ring. Batches that were handed out stay valid until their Release; the
// error counts them, and includes errors of iterations that had no consumer left to return them to.
// Close may be called more than once.
func (l *Loader) Close() error {
	l.mu.Lock()
	p, again := l.pass, l.closed
	l.closed = true
	l.mu.Unlock()
	var err error
	if p != nil {
		err = p.close()
	}
	if again {
		return nil
	}
	l.mu.Lock()
	err = errors.Join(err, errors.Join(l.unheard...))
	l.unheard = nil
	l.mu.Unlock()
	if n := l.meters.held.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("gpu: closed with %d batches not released", n))
	}
	return errors.Join(err, l.ring.Close())
}
