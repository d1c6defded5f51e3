package iterable

import (
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/shuffle"
)

// auditKeys returns the key of each source's samples in a run with a seed.
func (d *Dataset) auditKeys(seed uint64) (all []audit.Key) {
	for i := range d.sources {
		all = append(all, audit.NewKey(seed, i))
	}
	return all
}

// An Audit knows which samples the order of a run has between two positions. It reads no data. It
// is safe for concurrent use.
type Audit struct {
	order order
	keys  []audit.Key
	whole []*wholeSum // by source
}

// A wholeSum is the sum of all samples of a source, a nanosecond for each.
type wholeSum struct {
	units *shuffle.Units
	key   audit.Key

	mu   sync.Mutex
	next int // unit
	sum  uint64
}

// add continues until all units are in the sum, or ctx ends.
func (w *wholeSum) add(ctx context.Context) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; w.next < w.units.Len() && ctx.Err() == nil; w.next++ {
		w.sum += w.key.Range(w.next, 0, w.units.At(w.next).Samples)
	}
	return w.sum
}

// Audit of the order of a state, in which only the position is free.
func (d *Dataset) Audit(state shuffle.State) (*Audit, error) {
	r, err := d.orderOf(1, StreamOptions{State: &state}.withDefaults(d), 0, 0)
	if err != nil {
		return nil, err
	}
	a := &Audit{order: r, keys: d.auditKeys(state.Seed)}
	for source := range d.sources {
		a.whole = append(a.whole, &wholeSum{units: r.units(source), key: a.keys[source]})
	}
	return a, nil
}

// Prepare computes in advance what Due needs for any positions, until ctx ends.
func (a *Audit) Prepare(ctx context.Context) {
	for _, w := range a.whole {
		w.add(ctx)
	}
}

// Due returns the sum of the hashes of positions [from, to) of an epoch. Under Carry from may be
// below 0, and to beyond the epoch.
func (a *Audit) Due(epoch uint64, from, to int64) uint64 {
	return a.before(epoch, to) - a.before(epoch, from)
}

// before adds up all samples before a position, of this epoch and the ones before.
func (a *Audit) before(epoch uint64, pos int64) (sum uint64) {
	passes := a.order.left(epoch, pos, func(source int, p shuffle.Part) { sum -= a.keys[source].Range(p.Unit, p.Lo, p.Hi) })
	for source, n := range passes {
		if n > 0 {
			sum += n * a.whole[source].add(context.Background())
		}
	}
	return sum
}
