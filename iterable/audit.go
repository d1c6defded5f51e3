package iterable

import (
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
	whole []func() uint64 // by source: all of its samples
}

// Audit of the order of a state, in which only the position is free.
func (d *Dataset) Audit(state shuffle.State) (*Audit, error) {
	r, err := d.orderOf(1, StreamOptions{State: &state}.withDefaults(d), 0, 0)
	if err != nil {
		return nil, err
	}
	a := &Audit{order: r, keys: d.auditKeys(state.Seed)}
	for source := range d.sources {
		a.whole = append(a.whole, sync.OnceValue(func() (sum uint64) {
			for i, u := range r.units(source).All() {
				sum += a.keys[source].Range(i, 0, u.Samples)
			}
			return sum
		}))
	}
	return a, nil
}

// Prepare computes now what Due needs in any case.
func (a *Audit) Prepare() {
	for _, whole := range a.whole {
		whole()
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
			sum += n * a.whole[source]()
		}
	}
	return sum
}
