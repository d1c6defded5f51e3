package iterable

import (
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// mappings is the memory in which images of the tier stay mapped between two blocks in them: an
// account for each stream, which the budget may take for others at any time. A closed stream leaves
// its account, with the images, to the next one.
type mappings struct {
	images rowgroup.MappedImages
	budget *mem.Budget

	mu     sync.Mutex
	left   []*mem.Account
	closed bool
}

// newMapping returns the account of a stream whose blocks may lie in images, in half of the memory
// that the stream and its keeper leave; nil where they leave nothing.
func (d *Dataset) newMapping(stream *mem.Account, k *keeper, o StreamOptions) *mem.Account {
	room := d.memory - stream.Reserved().Total()
	if k != nil {
		room -= k.account.Reserved().Total()
	}
	room /= 2
	if a := d.mappings.take(); a != nil {
		if a.Reserved().Total() <= room {
			d.mappings.offer(a)
			return a
		}
		d.mappings.end(a)
	}
	if most := d.budget.Limit(); most > 0 {
		room = min(room, (most-d.budget.Admitted())/2)
	}
	if room = min(room, d.imageBytes()/int64(max(1, o.LocalWorldSize))); room <= 0 {
		return nil
	}
	a, err := d.budget.Reserve(d.memory, mem.Amounts{mem.Store: room})
	if err != nil {
		return nil
	}
	d.mappings.images.Allow(room)
	d.mappings.offer(a)
	return a
}

// imageBytes is what the images of all row groups take, as the metadata foretell them.
func (d *Dataset) imageBytes() (n int64) {
	for _, s := range d.sources {
		bytes, _ := s.sizes.total()
		n += bytes
	}
	return n
}

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

// leave leaves the account of a closed stream to the next one.
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

// end gives an account back, with the images that were mapped in it.
func (m *mappings) end(a *mem.Account) {
	m.images.Allow(-a.Reserved().Total())
	a.Close()
}

// close gives all accounts back, also the ones that streams leave from then on.
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
