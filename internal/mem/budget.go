package mem

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// A Budget limits the memory of all streams of a process together. It admits a stream's whole need
// before the stream reads anything, or refuses: nothing ever waits for another stream's memory, so
// two streams cannot block each other. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu       sync.Mutex
	admitted int64
	accounts map[*Account]bool // that are open
	offered  map[*Account]func()
	pools    map[*Pool]bool // that keep idle bytes
}

// NewBudget returns a budget of limit bytes. A limit of 0 or less means no limit.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit is the most that is admitted in sum; 0 or less when there is no limit.
func (b *Budget) Limit() int64 { return b.limit }

// Admitted is the sum of the reservations that are open.
func (b *Budget) Admitted() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admitted
}

// Reserve admits need as a whole, under the stream's own limit memory (0 or less for no limit) and
// the budget's, or returns an [OverLimit].
func (b *Budget) Reserve(memory int64, need Amounts) (*Account, error) {
	total := need.Total()
	if memory > 0 && total > memory {
		return nil, &OverLimit{Need: need, Limit: memory}
	}
	err := b.take(need, total)
	for err != nil && b.takeOffer() {
		err = b.take(need, total)
	}
	if err != nil {
		return nil, err
	}
	a := &Account{budget: b, limit: memory, reserved: need}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.accounts == nil {
		b.accounts = map[*Account]bool{}
	}
	b.accounts[a] = true
	return a, nil
}

// Purposes returns what all open accounts have reserved and use, by purpose.
func (b *Budget) Purposes() (reserved, used Amounts) {
	b.mu.Lock()
	open := slices.Collect(maps.Keys(b.accounts))
	b.mu.Unlock()
	for _, a := range open {
		r, u := a.amounts()
		for p := range r {
			reserved[p] += r[p]
			used[p] += u[p]
		}
	}
	return reserved, used
}

// Offer lets others have the room of an account that speeds things up and is not needed: if a
// reservation does not fit, yield is called, which closes the account.
func (b *Budget) Offer(a *Account, yield func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.offered == nil {
		b.offered = map[*Account]func(){}
	}
	b.offered[a] = yield
}

// Withdraw ends an offer. It is false when the account was taken.
func (b *Budget) Withdraw(a *Account) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, there := b.offered[a]
	delete(b.offered, a)
	return there
}

// takeOffer closes one of the accounts on offer, if there are any.
func (b *Budget) takeOffer() bool {
	b.mu.Lock()
	var yield func()
	for a, f := range b.offered {
		yield = f
		delete(b.offered, a)
		break
	}
	b.mu.Unlock()
	if yield != nil {
		yield()
	}
	return yield != nil
}

func (b *Budget) take(need Amounts, total int64) error {
	b.mu.Lock()
	if b.limit > 0 && b.admitted+total > b.limit {
		defer b.mu.Unlock()
		return &OverLimit{Need: need, Limit: b.limit, Admitted: b.admitted, Shared: true}
	}
	b.admitted += total
	room, pools := b.limit-b.admitted, b.poolsLocked()
	b.mu.Unlock()
	yield(pools, room)
	return nil
}

// poolsLocked returns the pools that may have to free idle bytes.
func (b *Budget) poolsLocked() []*Pool {
	if b.limit <= 0 {
		return nil
	}
	return slices.Collect(maps.Keys(b.pools))
}

// yield makes pools free their idle bytes if all together exceed the room.
func yield(pools []*Pool, room int64) {
	for _, p := range pools {
		room -= p.Stats().Idle
	}
	if room < 0 {
		for _, p := range pools {
			p.giveUp()
		}
	}
}

// NewPool returns a pool that keeps as many idle bytes as were in use at one time, until a
// reservation needs their room, or [Pool.Close]. Its limit is [Pool.Limit].
func (b *Budget) NewPool(limit int64) *Pool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Pool{Limit: limit, budget: b}
	if b.pools == nil {
		b.pools = map[*Pool]bool{}
	}
	b.pools[p] = true
	return p
}

func (b *Budget) leave(p *Pool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pools, p)
}

// room returns the bytes that can still be admitted.
func (b *Budget) room() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit <= 0 {
		return math.MaxInt64 / 4
	}
	return b.limit - b.admitted
}

func (b *Budget) close(a *Account, reserved int64) {
	b.giveBack(reserved)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.accounts, a)
}

func (b *Budget) giveBack(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admitted -= total
}

// OverLimit reports a need that exceeds a limit.
type OverLimit struct {
	Need     Amounts
	Limit    int64
	Admitted int64 // what earlier reservations hold of the limit
	Shared   bool  // the limit belongs to all streams of the process, not to one
}

func (e *OverLimit) Error() string {
	if !e.Shared {
		return fmt.Sprintf("needs %s of memory (%s), more than its limit of %s", Bytes(e.Need.Total()), e.Need, Bytes(e.Limit))
	}
	return fmt.Sprintf("needs %s of memory (%s), but only %s of %s are left for all streams", Bytes(e.Need.Total()), e.Need,
		Bytes(max(0, e.Limit-e.Admitted)), Bytes(e.Limit))
}
