package image

import (
	"sync"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// Mapped holds the images that a tier lends, each once for all users. Some stay mapped without a
// user: the next use, an epoch later, has no page faults. The zero value lets none stay. It is safe
// for concurrent use.
type Mapped struct {
	mu   sync.Mutex
	room int64
	used int64 // of the room
	all  map[groupKey]*mapping
}

// A groupKey is a row group as a manifest reads it.
type groupKey struct {
	of    *Shards
	shard int
	group int
}

// A mapping is one lease. Its bytes take room while it stays without a user, and on from then
// until a block is in it, whose owner counts them.
type mapping struct {
	of      *Mapped
	key     groupKey
	file    File
	lease   shard.Lease
	bytes   int64
	written atomic.Int64 // File.Written as the image was verified
	users   int
	takes   bool // room
}

// A Lease is one use of a mapped image.
type Lease struct {
	shard.Lease
	image *mapping
	once  sync.Once
}

// Allow adds n bytes of room, or takes them back: images that have no room any more leave the
// memory.
func (m *Mapped) Allow(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room += n
	for _, x := range m.all {
		if m.used > m.room && x.takes && x.users == 0 {
			m.forgetLocked(x)
		}
	}
}

// lend returns the lease of an image that is held whole.
func (m *Mapped) lend(key groupKey, file File, i *Image) (*Lease, error) {
	if l := m.share(key, file, i); l != nil {
		return l, nil
	}
	lease, err := file.Lend(i.place, i.Bytes)
	if err != nil {
		return nil, err
	}
	x := &mapping{of: m, key: key, file: file, lease: lease, bytes: i.Bytes, users: 1}
	x.written.Store(i.written)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[key] == nil { // else another was faster, and this one serves one user
		if m.all == nil {
			m.all = map[groupKey]*mapping{}
		}
		m.all[key] = x
	}
	return &Lease{Lease: lease, image: x}, nil
}

// share lends a lease to one more user, or returns nil if it finds none to use. It looks at the
// file without the mutex: a disk may be slow.
func (m *Mapped) share(key groupKey, file File, i *Image) *Lease {
	m.mu.Lock()
	x := m.all[key]
	if x != nil {
		x.users++
	}
	m.mu.Unlock()
	if x == nil {
		return nil
	}
	l := &Lease{Lease: x.lease, image: x}
	if x.bytes != i.Bytes || file.Again(x.lease) != nil {
		m.mu.Lock()
		m.dropLocked(x)
		m.mu.Unlock()
		l.Release()
		return nil
	}
	x.written.Store(i.written)
	return l
}

// forget keeps the lease of an image from further users.
func (m *Mapped) forget(key groupKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.all[key]; x != nil {
		m.forgetLocked(x)
	}
}

func (m *Mapped) forgetLocked(x *mapping) {
	m.dropLocked(x)
	if x.users == 0 {
		x.lease.Release()
	}
}

// stay takes room for the image, and reports whether there was some.
func (l *Lease) stay() bool {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stayLocked(l.image)
}

// MayStay reports whether the use may be as long as a block lives.
func (l *Lease) MayStay() bool {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.image.takes || l.image.file.MayStay()
}

// Whole reports whether the image can still be lent, and its file was not written to since the
// image was verified.
func (l *Lease) Whole() bool {
	x := l.image
	return x.written.Load() == x.file.Written() && x.file.Again(x.lease) == nil
}

// Counted ends the counting of the image's bytes here: the user counts them.
func (l *Lease) Counted() {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	m.giveLocked(l.image)
}

// Release ends the use.
func (l *Lease) Release() { l.once.Do(l.image.end) }

func (x *mapping) end() {
	m := x.of
	m.mu.Lock()
	x.users--
	over := x.users == 0 && !(m.used <= m.room && m.stayLocked(x))
	if over {
		m.dropLocked(x)
	}
	m.mu.Unlock()
	if over {
		x.lease.Release()
	}
}

func (m *Mapped) stayLocked(x *mapping) bool {
	if !x.takes && m.all[x.key] == x && m.used+x.bytes <= m.room && x.file.MayStay() {
		x.takes = true
		m.used += x.bytes
	}
	return x.takes
}

func (m *Mapped) giveLocked(x *mapping) {
	if x.takes {
		x.takes = false
		m.used -= x.bytes
	}
}

func (m *Mapped) dropLocked(x *mapping) {
	m.giveLocked(x)
	if m.all[x.key] == x {
		delete(m.all, x.key)
	}
}
