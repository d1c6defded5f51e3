package mem

import (
	"context"
	"errors"
	"math"
)

// Grow takes n bytes and reserves what the reservation lacks for them. If they do not fit the
// stream's limit or the budget, it evicts what is held for later. It takes nothing if that is not
// enough, and returns an [OverLimit] then.
func (a *Account) Grow(p Purpose, n int64) error {
	err := a.TryGrow(p, n)
	if err == nil {
		return nil
	}
	defer a.beginEviction()()
	for err != nil && a.makeRoom(context.Background(), n) {
		err = a.TryGrow(p, n)
	}
	return err
}

// Growing returns a function that grows the account and adds what it took to held.
func (a *Account) Growing(p Purpose, held *int64) func(n int64) error {
	return func(n int64) error {
		err := a.Grow(p, n)
		if err == nil {
			*held += n
		}
		return err
	}
}

// TryGrow is Grow without eviction.
func (a *Account) TryGrow(p Purpose, n int64) error {
	for {
		err := a.tryGrow(p, n, false)
		if err == nil || !a.stretch(p, n) {
			return err
		}
	}
}

// Evict lets Grow and turns take back memory that is held for later. evict waits for work in
// progress on it, frees a part and reports whether more may fit now; it ends with ctx.
func (a *Account) Evict(evict func(ctx context.Context) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evict = evict
}

// beginEviction keeps others from taking memory for later, until end.
func (a *Account) beginEviction() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evicting++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.evicting--
	}
}

// makeRoom takes memory from what can do without, for n more bytes. It reports whether another try
// is worth it.
func (a *Account) makeRoom(ctx context.Context, n int64) bool {
	if a.budget.room() < n && a.budget.takeOffer() {
		return true
	}
	a.mu.Lock()
	evict := a.evict
	a.mu.Unlock()
	return evict != nil && evict(ctx)
}

// GrowPlenty is Grow if half of the memory for growth stays free.
func (a *Account) GrowPlenty(p Purpose, n int64) bool {
	for {
		err := a.tryGrow(p, n, true)
		if err == nil || err == errScarce || !a.stretch(p, n) {
			return err == nil
		}
	}
}

var errScarce = errors.New("little memory is left")

func (a *Account) tryGrow(p Purpose, n int64, plenty bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if plenty && (a.evicting > 0 || !a.plentyLocked(p, n)) {
		return errScarce
	}
	return a.growLocked(p, n)
}

func (a *Account) growLocked(p Purpose, n int64) error {
	used, room := a.roomLocked(p)
	if lack := used + n - room; lack > 0 && !a.closed {
		need := Amounts{}
		need[p] = lack
		if total := a.reserved.Total(); a.limit > 0 && total+lack > a.limit && !a.looseLocked(n, lack) {
			return &OverLimit{Need: need, Limit: a.limit, Admitted: total}
		}
		if err := a.budget.take(need, lack); err != nil {
			return err
		}
		a.reserved[p] += lack
		a.grown[p] += lack
	}
	a.chargeLocked(p, n)
	return nil
}

// looseBytes, beside a tenth of the limit, is how far reservations may exceed it while less is
// used. The purposes rarely need their worst cases at once, and a process may hold a tenth and
// 64 MiB more than the limit.
const looseBytes = 16 << 20

// looseLocked reports whether n bytes fit the limit as it is used, and lack bytes the slack.
func (a *Account) looseLocked(n, lack int64) bool {
	return a.used.Total()+n <= a.limit && a.reserved.Total()+lack <= a.limit+a.limit/10+looseBytes
}

// withinLocked reports whether n more bytes fit the limit, which the reservation may exceed, as
// Charge may exceed the reservation.
func (a *Account) withinLocked(n int64) bool {
	return a.limit <= 0 || a.used.Total()+n <= a.limit
}

// shrinkLocked returns the unused bytes that Grow has added.
func (a *Account) shrinkLocked(p Purpose) {
	used, room := a.roomLocked(p)
	if n := min(a.grown[p], room-used); n > 0 && !a.closed {
		a.grown[p] -= n
		a.reserved[p] -= n
		a.budget.giveBack(n)
	}
}

// Beside lowers the stream's limit by bytes that another account of the stream holds.
func (a *Account) Beside(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit > 0 {
		a.limit = max(1, a.limit-n)
	}
}

// Room is the most bytes that a purpose may ever have: its reservation, and what Grow can add while
// no other purpose grows.
func (a *Account) Room(p Purpose) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reserved[p] + a.growableLocked()
}

// growableLocked returns the bytes that Grow can still add.
func (a *Account) growableLocked() int64 {
	return max(0, a.freeLocked()+a.elastic.bytes)
}

// freeLocked returns the bytes that no account has reserved.
func (a *Account) freeLocked() int64 {
	n := int64(math.MaxInt64 / 4)
	if a.limit > 0 {
		n = a.limit - a.reserved.Total()
	}
	return min(n, a.budget.room())
}

// An elastic is a part of a reservation that Grow may take: a cache, which works with less.
type elastic struct {
	purpose Purpose
	bytes   int64             // at most
	yield   func(int64) int64 // frees bytes and returns how many; nil if not elastic
}

// Elastic lets Grow take at most bytes that are reserved for a purpose. yield frees some of them
// and returns how many, possibly 0.
func (a *Account) Elastic(p Purpose, bytes int64, yield func(int64) int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.elastic = elastic{p, bytes, yield}
}

// stretch makes room for n more bytes of a purpose out of the elastic part. It reports whether it
// made some.
func (a *Account) stretch(p Purpose, n int64) bool {
	a.mu.Lock()
	used, room := a.roomLocked(p)
	lack, e := min(used+n-room-a.freeLocked(), a.elastic.bytes), a.elastic
	a.mu.Unlock()
	if lack <= 0 || e.yield == nil {
		return false
	}
	freed := e.yield(lack)
	if freed <= 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.elastic.bytes -= freed
	if !a.closed {
		a.reserved[e.purpose] -= freed
		a.budget.giveBack(freed)
	}
	return true
}
