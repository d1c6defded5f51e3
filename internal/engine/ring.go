package engine

import (
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/loader"
)

// errGone fails what is done for a trainer that has gone.
var errGone = errors.New("the trainer has gone")

// A ring is the shared memory of one consumer: the allocator of the loader whose batches it gets.
// The loader has a slot from Begin to announce, the trainer from then until it releases the slot.
// At most need.slots slots are in use at a time, over all generations, so a slot in use always
// finds a place in the newest generation too.
type ring struct {
	gone  chan struct{} // closed by close
	freed chan struct{} // signals Begin

	mu      sync.Mutex
	need    ringNeed
	used    int // slots
	seq     uint64
	newest  *generation
	all     map[uint32]*generation
	closed  bool
	closing error
}

func newRing() *ring {
	return &ring{gone: make(chan struct{}), freed: make(chan struct{}, 1), all: map[uint32]*generation{}}
}

// fit makes the ring at least as large as need.
func (r *ring) fit(need ringNeed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errGone
	}
	need.slots = max(need.slots, 2, r.need.slots) // one that the trainer holds and one that it waits for
	size, slots := int64(0), 0
	if r.newest != nil {
		size, slots = int64(r.newest.size), r.newest.slots()
	}
	if slots < need.slots || size < need.bytes {
		if err := r.growLocked(need.slots, max(size, need.bytes)); err != nil {
			return err
		}
	}
	r.need = need
	r.wake()
	return nil
}

// growLocked adds a generation. The one before goes when its last slot is free.
func (r *ring) growLocked(slots int, size int64) error {
	number, before := uint32(0), r.newest
	if before != nil {
		number = before.number + 1
	}
	g, err := newGeneration(number, slots, size)
	if err != nil {
		return err
	}
	r.newest, r.all[number] = g, g
	if before != nil {
		r.dropLocked(before)
	}
	return nil
}

// widenLocked makes slots of at least n bytes, and some more.
func (r *ring) widenLocked(n int64) error {
	if n <= int64(r.newest.size) {
		return nil
	}
	return r.growLocked(r.need.slots, max(n+n/4, 2*int64(r.newest.size)))
}

// dropLocked frees a generation that is not used any more.
func (r *ring) dropLocked(g *generation) {
	if g.used > 0 || g == r.newest && !r.closed {
		return
	}
	delete(r.all, g.number)
	r.closing = errors.Join(r.closing, g.close())
}

// Begin waits for a free slot.
func (r *ring) Begin(ctx context.Context, size int) (loader.Memory, error) {
	for {
		s, err := r.take(size)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-r.freed:
		case <-r.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take returns a slot, or nil when none is free.
func (r *ring) take(size int) (loader.Memory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errGone
	}
	if r.used >= r.need.slots {
		return nil, nil
	}
	if err := r.widenLocked(int64(size)); err != nil {
		return nil, err
	}
	r.used++
	g := r.newest
	return &slot{ring: r, need: r.need, at: g, index: g.take(), n: firstByte}, nil
}

// larger takes a slot of at least n bytes for a batch that has outgrown its slot, which it keeps.
func (r *ring) larger(n int64) (*generation, uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0, errGone
	}
	if err := r.widenLocked(n); err != nil {
		return nil, 0, err
	}
	return r.newest, r.newest.take(), nil
}

// owe adds a function that gives reserved bytes back when the generation goes.
func (r *ring) owe(g *generation, give func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.giving = append(g.giving, give)
}

// announced gives a slot to the trainer and returns its sequence number.
func (r *ring) announced(g *generation, slot uint32) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	g.seqs[slot] = r.seq
	return r.seq
}

func (r *ring) release(x release) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.all[x.generation]
	if g == nil || int64(x.slot) >= int64(g.slots()) || x.seq == 0 || g.seqs[x.slot] != x.seq {
		return protocolError("RELEASE of slot %d of generation %d, batch %d: it has not been announced, or was released before",
			x.slot, x.generation, x.seq)
	}
	r.giveLocked(g, x.slot)
	r.used--
	r.wake()
	return nil
}

// give takes back a slot that was not announced. last says that its batch has no other slot.
func (r *ring) give(g *generation, slot uint32, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.giveLocked(g, slot)
	if last {
		r.used--
		r.wake()
	}
}

func (r *ring) giveLocked(g *generation, slot uint32) {
	g.give(slot)
	r.dropLocked(g)
}

func (r *ring) wake() {
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// latest returns the newest generation, or nil before the first fit and after close.
func (r *ring) latest() *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	return r.newest
}

// unsent returns a generation that was not sent yet, and a descriptor for the trainer that stays
// valid when the generation goes. It returns nil when the trainer has it.
func (r *ring) unsent(number uint32) (*generation, *os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.all[number]
	if g == nil || g.sent {
		return nil, nil, nil
	}
	fd, err := unix.FcntlInt(g.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("dup", err)
	}
	g.sent = true
	return g, os.NewFile(uintptr(fd), g.file.Name()), nil
}

// stop ends every Begin.
func (r *ring) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.gone)
	}
}

// close takes all slots back from a trainer that has gone. The memory goes when the loader has
// given back its last slot.
func (r *ring) close() error {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.all {
		for i, seq := range g.seqs {
			if seq != 0 {
				g.give(uint32(i))
				r.used--
			}
		}
		r.dropLocked(g)
	}
	return r.closing
}
