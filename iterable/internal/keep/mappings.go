package keep

import (
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// mappings has the memory in which images of the tier stay mapped between two blocks in them: an
// account for each stream, which the budget may take for others at any time. A closed stream leaves
// its account, with the images, to the next one.
type mappings struct {
	images rowgroup.MappedImages
	budget *mem.Budget

	mu     sync.Mutex
	left   []*mem.Account
	closed bool
}

// Mapping returns the account of a stream whose blocks may be in images: half of the memory that
// the stream and its keeper leave, and at most images bytes; nil if they leave nothing.
func (k *Keeping) Mapping(stream *mem.Account, beside *Keeper, images int64) *mem.Account {
	room := (k.memory - stream.Reserved().Total() - beside.Reserved()) / 2
	if a := k.mappings.take(); a != nil {
		if a.Reserved().Total() <= room {
			k.mappings.offer(a)
			return a
		}
		k.mappings.end(a)
	}
	if most := k.budget.Limit(); most > 0 {
		room = min(room, (most-k.budget.Admitted())/2)
	}
	if room = min(room, images); room <= 0 {
		return nil
	}
	a, err := k.budget.Reserve(k.memory, mem.Amounts{mem.Store: room})
	if err != nil {
		return nil
	}
	k.mappings.images.Allow(room)
	k.mappings.offer(a)
	return a
}

// Leave passes the account of a closed stream, which may be nil, to the next one.
func (k *Keeping) Leave(a *mem.Account) { k.mappings.leave(a) }

// offer lets others have the memory.
func (m *mappings) offer(a *mem.Account) { m.budget.Offer(a, func() { m.end(a) }) }

// take returns an account that a closed stream left, if there is one.
func (m *mappings) take() *mem.Account {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.takeLocked()
}

func (m *mappings) takeLocked() *mem.Account {
	for len(m.left) > 0 {
		a := m.left[len(m.left)-1]
		m.left = m.left[:len(m.left)-1]
		if m.budget.Withdraw(a) {
			return a
		}
	}
	return nil
}

// leave keeps the account of a closed stream for the next one.
func (m *mappings) leave(a *mem.Account) {
	if a == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = append(m.left, a)
	if m.closed {
		m.closeLocked()
	}
}

// end closes an account, and unmaps the images in it.
func (m *mappings) end(a *mem.Account) {
	m.images.Allow(-a.Reserved().Total())
	a.Close()
}

// close closes all accounts, including accounts that streams leave later.
func (m *mappings) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.closeLocked()
}

func (m *mappings) closeLocked() {
	for a := m.takeLocked(); a != nil; a = m.takeLocked() {
		m.end(a)
	}
}
