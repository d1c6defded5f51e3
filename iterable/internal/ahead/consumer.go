package ahead

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// Next returns the next load of the schedule once it is admitted, or nil after the last. The load
// may still be on its way: see Await. A wait is added to the consumer's trail.
func (r *Reader) Next(ctx context.Context, held *wait.Trail) (*Load, error) {
	if len(r.loads) == 0 {
		r.want(r.received + 1)
		held.Until(wait.Now(), wait.Collate)
		held.Next(wait.Room)
		defer func() {
			held.Until(wait.Now(), wait.Room)
			held.Next(wait.Collate)
		}()
	}
	l, ok, err := Receive(ctx, r.Closing, r.loads)
	if ok {
		r.received++
		r.lookAgain() // the queue may have been full
	}
	return l, err
}

// Enter waits until an epoch is within the horizon. The wait is added to the consumer's trail.
func (r *Reader) Enter(ctx context.Context, epoch uint64, held *wait.Trail) error {
	moved := r.Horizon.beyond(epoch)
	if moved == nil {
		return nil
	}
	held.Until(wait.Now(), wait.Collate)
	held.Next(wait.Open)
	for ; moved != nil; moved = r.Horizon.beyond(epoch) {
		if _, _, err := Receive(ctx, r.Closing, moved); err != nil {
			return err
		}
	}
	held.Until(wait.Now(), wait.Open)
	held.Next(wait.Collate)
	return nil
}

// Receive takes a value of c, unless closing is closed or ctx ends before.
func Receive[T any](ctx context.Context, closing <-chan struct{}, c <-chan T) (v T, ok bool, err error) {
	select {
	case v, ok = <-c:
	case <-closing:
		err = ErrClosed
	case <-ctx.Done():
		err = cause.Of(ctx)
	}
	return v, ok, err
}

// Await waits until a load is ready and makes it the consumer's, who sees in l.Err whether it
// failed, and takes or drops it. Its error concerns only the wait. What held the load up meanwhile
// is added to the consumer's trail.
func (r *Reader) Await(ctx context.Context, l *Load, held *wait.Trail) error {
	ready, taken := r.evictable.claim(l)
	if taken {
		return nil
	}
	began := wait.Now()
	held.Until(began, wait.Collate)
	held.Follow(&l.trail)
	r.want(l.number)
	for ; !taken; ready, taken = r.evictable.claim(l) {
		if _, _, err := Receive(ctx, r.Closing, ready); err != nil {
			return err
		}
	}
	held.During(&l.trail, began, wait.Now())
	held.Next(wait.Collate)
	return nil
}

// want reports that the consumer waits for the n-th load. Only the consumer calls it.
func (r *Reader) want(n int64) {
	if n > r.needed.Load() {
		r.needed.Store(n)
		r.lookAgain()
		r.parking.look()
	}
}

// Drop frees a load that the consumer does not need, if it is ready.
func (r *Reader) Drop(l *Load) (ok bool) {
	if _, ok = r.evictable.claim(l); ok && l.blocks != nil {
		r.dropBlocks(l)
		r.discharge(l)
	}
	return ok
}
