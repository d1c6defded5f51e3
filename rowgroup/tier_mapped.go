package rowgroup

import (
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// MappedImages are the images that a tier lends, each once for all users. Some stay mapped without
// a user: the next use, an epoch later, has no page faults. The zero value lets none stay. It is safe
// for concurrent use.
type MappedImages struct {
	mu   sync.Mutex
	room int64
	used int64 // of the room
	all  map[imageKey]*mappedImage
}

// An imageKey is a row group as a manifest reads it.
type imageKey struct {
	of    *tierShards
	shard int
	group int
}

// A mappedImage is one lease. Its bytes take room while it stays without a user, and on from then
// until a block lies in it, whose owner counts them.
type mappedImage struct {
	of    *MappedImages
	key   imageKey
	file  TierFile
	lease shard.Lease
	bytes int64
	users int
	takes bool // room
}

// An imageLease is one use of a mapped image.
type imageLease struct {
	shard.Lease
	image *mappedImage
	once  sync.Once
}

// Allow adds n bytes of room, or takes them back: images that have no room any more leave the
// memory.
func (m *MappedImages) Allow(n int64) {
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
func (m *MappedImages) lend(key imageKey, file TierFile, i *image) (*imageLease, error) {
	if l := m.share(key, file, i); l != nil {
		return l, nil
	}
	lease, err := file.Lend(i.place, i.bytes)
	if err != nil {
		return nil, err
	}
	x := &mappedImage{of: m, key: key, file: file, lease: lease, bytes: i.bytes, users: 1}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[key] == nil { // else another was faster, and this one serves one user
		if m.all == nil {
			m.all = map[imageKey]*mappedImage{}
		}
		m.all[key] = x
	}
	return &imageLease{Lease: lease, image: x}, nil
}

// share is another use of a lease, or nil where there is none that can be used. It looks at the file
// without the mutex: a disk may be slow.
func (m *MappedImages) share(key imageKey, file TierFile, i *image) *imageLease {
	m.mu.Lock()
	x := m.all[key]
	if x != nil {
		x.users++
	}
	m.mu.Unlock()
	if x == nil {
		return nil
	}
	l := &imageLease{Lease: x.lease, image: x}
	if x.bytes != i.bytes || file.Again(x.lease) != nil {
		m.mu.Lock()
		m.dropLocked(x)
		m.mu.Unlock()
		l.Release()
		return nil
	}
	return l
}

// forget keeps the lease of an image from further users.
func (m *MappedImages) forget(key imageKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.all[key]; x != nil {
		m.forgetLocked(x)
	}
}

func (m *MappedImages) forgetLocked(x *mappedImage) {
	m.dropLocked(x)
	if x.users == 0 {
		x.lease.Release()
	}
}

// stay takes room for the image, and says whether there was some.
func (l *imageLease) stay() bool {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stayLocked(l.image)
}

// mayStay says whether the use may be as long as a block lives.
func (l *imageLease) mayStay() bool {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	return l.image.takes || l.image.file.MayStay()
}

// counted says that somebody else counts the bytes of the image now.
func (l *imageLease) counted() {
	m := l.image.of
	m.mu.Lock()
	defer m.mu.Unlock()
	m.giveLocked(l.image)
}

// Release ends the use.
func (l *imageLease) Release() { l.once.Do(l.image.end) }

func (x *mappedImage) end() {
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

func (m *MappedImages) stayLocked(x *mappedImage) bool {
	if !x.takes && m.all[x.key] == x && m.used+x.bytes <= m.room && x.file.MayStay() {
		x.takes = true
		m.used += x.bytes
	}
	return x.takes
}

func (m *MappedImages) giveLocked(x *mappedImage) {
	if x.takes {
		x.takes = false
		m.used -= x.bytes
	}
}

func (m *MappedImages) dropLocked(x *mappedImage) {
	m.giveLocked(x)
	if m.all[x.key] == x {
		delete(m.all, x.key)
	}
}
