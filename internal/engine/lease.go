package engine

import (
	"errors"
	"slices"
)

// A lease is the use of a ring by one of its readers.
type lease struct {
	*ring
	reader int
}

// senders are consumers that have a connection.
func senders(of []consumer) (all []*sender) {
	for _, c := range of {
		if t, ok := c.(*sender); ok {
			all = append(all, t)
		}
	}
	return all
}

// share gives senders one ring, whose generations come after all that any of them has.
func share(all []*sender) *ring {
	first := uint32(0)
	for _, t := range all {
		first = max(first, t.lease().next())
	}
	r := newSharedRing(len(all), first)
	for i, t := range all {
		r.breach[i] = t.breach
		t.rings.Lock()
		t.older = append(t.older, lease{t.memory, t.reader})
		t.memory, t.reader = r, i
		t.rings.Unlock()
	}
	return r
}

// lease is the trainer's use of its ring.
func (t *sender) lease() lease {
	t.rings.Lock()
	defer t.rings.Unlock()
	return lease{t.memory, t.reader}
}

// leases are the trainer's uses of all rings that it has, its own last.
func (t *sender) leases() []lease {
	t.rings.Lock()
	defer t.rings.Unlock()
	return append(slices.Clone(t.older), lease{t.memory, t.reader})
}

// released looks for the slots that the trainer has released.
func (t *sender) released() {
	for _, l := range t.leases() {
		l.collect()
	}
}

// breach ends the connection of a trainer that released what it does not have. It never waits.
func (t *sender) breach(err error) {
	if t.broken.CompareAndSwap(nil, &err) {
		_ = t.conn.CloseRead()
	}
}

// stopRings ends every wait for a slot of a ring that no other trainer reads.
func (t *sender) stopRings() {
	for _, l := range t.leases() {
		if l.isOf(1) {
			l.stop()
		}
	}
}

// leaveRings releases all rings.
func (t *sender) leaveRings() error {
	var all []error
	for _, l := range t.leases() {
		all = append(all, l.leave(1<<l.reader))
	}
	return errors.Join(all...)
}
