package engine

import (
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
)

// outputs counts results of the trainers' workers, beyond JOIN's, in the memory of the session's
// stream.
type outputs struct {
	mu      sync.Mutex
	account *mem.Account  // of the newest stream; nil before the first
	bytes   map[int]int64 // by replica
}

// use moves the results to the account of a stream. They exist, so they count even if it has too
// little memory for them.
func (o *outputs) use(a *mem.Account) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.account == a {
		return
	}
	for _, n := range o.bytes {
		if o.account != nil {
			o.account.Release(mem.Ring, n)
		}
		if a.TryGrow(mem.Ring, n) != nil {
			a.Charge(mem.Ring, n)
		}
	}
	o.account = a
}

// reserve replaces the bytes that count for a replica's results. Before the first stream it only
// notes them.
func (o *outputs) reserve(replica int, bytes int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before := o.bytes[replica]; before > 0 {
		delete(o.bytes, replica)
		if o.account != nil {
			o.account.Release(mem.Ring, before)
		}
	}
	if bytes <= 0 {
		return nil
	}
	if o.account != nil {
		if err := o.account.Grow(mem.Ring, bytes); err != nil {
			return &iterable.MemoryError{Need: iterable.Amounts{mem.Ring: bytes}, Ways: []string{"raise {Memory}", "set a smaller {BatchSize}"}, Err: err}
		}
	}
	o.bytes[replica] = bytes
	return nil
}

// close releases all.
func (o *outputs) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.bytes {
		if o.account != nil {
			o.account.Release(mem.Ring, n)
		}
	}
	clear(o.bytes)
}
