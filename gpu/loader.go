package gpu

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/shardfeed/shardfeed/internal/iteration"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Loader makes batches of a data set on a device. Its methods are safe for concurrent use.
type Loader struct {
	device Device
	o      Options
	ring   *Ring
	host   *loader.Loader // into the ring
	meters *meters

	loop iteration.Loop[*pass, *Batch]
}

// New checks the options against the data set and allocates the ring. It reads nothing; data set
// and device must stay open until Close.
func New(ds *iterable.Dataset, d Device, o Options) (*Loader, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	size := o.SlotBytes
	if size == 0 {
		size = int(loader.BatchBytes(ds, o.Loader))
	}
	ring := makeRing(d, RingOptions{
		Slots: o.Loader.MaxBatches, SlotBytes: size, RequirePinned: o.RequirePinned, Pageable: o.Events.Pageable,
	})
	lo := o.Loader
	lo.Allocator, lo.Timeout = ring, 0 // the timeout applies to the consumer only; the sender waits without one
	host, err := loader.New(ds, lo)
	if err == nil {
		err = ring.fill()
	}
	if err != nil {
		return nil, err
	}
	l := &Loader{
		device: d, o: o, ring: ring, host: host, meters: &meters{},
		loop: iteration.Loop[*pass, *Batch]{Closed: ErrClosed, Busy: loader.ErrBusy},
	}
	l.loop.Resume(o.Loader.State)
	return l, nil
}

// Len is the number of batches of a whole epoch, the same on every rank.
func (l *Loader) Len() int64 { return l.host.Len() }

// Batches iterates over Options.Loader.Epochs epochs, like loader.Loader: it starts after the last
// delivered batch. The batches are on the device.
//
// The consumer owns each batch until its Release, which may come after the iteration and in any
// order. An error is the last element, and names its place. Leaving the loop, in any way, ends all
// goroutines and waits for the copies in flight, whose batches the next iteration makes again.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return l.loop.Batches(func(after *shuffle.State) (*pass, error) {
		transfer, err := newTransfer(l.device, l.o.InFlight+l.o.Held, l.meters)
		if err != nil {
			return nil, err
		}
		l.host.Resume(after) // the last batch handed out, not those on their way
		return newPass(ctx, l.host, transfer, l.meters, l.o), nil
	})
}

// State resumes after the last batch that was handed out, not after batches in flight; nil before
// the first, unless the options gave one. See loader.Loader for batches out of order.
func (l *Loader) State() *shuffle.State { return l.loop.State() }

// Close ends an iteration that is still going on, whose consumer gets ErrClosed, waits for its
// goroutines and frees the ring. Batches that were handed out stay valid until their Release; the
// error counts them, and includes errors of iterations that had no consumer left to return them to.
// Close may be called more than once.
func (l *Loader) Close() error {
	first, err := l.loop.Close()
	if !first {
		return nil
	}
	if n := l.meters.held.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("gpu: closed with %d batches not released", n))
	}
	return errors.Join(err, l.host.Close(), l.ring.Close())
}
