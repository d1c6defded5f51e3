package engine

import (
	"context"
	"errors"
	"math/bits"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/loader"
)

// errGone fails what is done for a trainer that has gone.
var errGone = errors.New("the trainer has gone")

// A ring is the shared memory of one consumer, or of replicas: the allocator of the loader whose
// batches they get. The loader has a slot from Begin to announce, the trainers from then until each
// has released the slot.
// At most need.slots slots are in use at a time, over all generations, so a slot in use always
// finds a place in the newest generation too.
type ring struct {
	gone  chan struct{} // closed by close
	freed chan struct{} // signals Begin

	mu      sync.Mutex
	watch   watch
	breach  []func(error) // by trainer: ends the connection of one that released what it does not have
	need    ringNeed
	readers uint64 // trainers that have not gone, a bit for each
	first   uint32 // number of the first generation
	used    int    // slots
	seq     uint64
	newest  *generation
	all     map[uint32]*generation
	closed  bool
	closing error
}

func newRing() *ring { return newSharedRing(1, 0) }

// newSharedRing is a ring that so many trainers read. Its generations count from first.
func newSharedRing(readers int, first uint32) *ring {
	r := &ring{
		gone: make(chan struct{}), freed: make(chan struct{}, 1), all: map[uint32]*generation{}, first: first, breach: make([]func(error), readers),
	}
	for i := range readers {
		r.readers |= 1 << i
	}
	return r
}

// isOf reports whether so many trainers read the ring.
func (r *ring) isOf(readers int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed && bits.OnesCount64(r.readers) == readers
}

// next is the number of a generation after all of this ring.
func (r *ring) next() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == nil {
		return r.first
	}
	return r.newest.number + 1
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
	number, before := r.first, r.newest
	if before != nil {
		number = before.number + 1
	}
	g, err := newGeneration(number, slots, size, len(r.breach))
	if err != nil {
		return err
	}
	r.newest, r.all[number] = g, g
	if before != nil {
		r.askAllLocked(before)
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
			r.unwatch()
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
	if !r.isFreeLocked() {
		r.watch.waiting = true
		return nil, nil
	}
	r.unwatchLocked()
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

// announced gives a slot to trainers and returns its sequence number.
func (r *ring) announced(g *generation, slot uint32, to uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	g.seqs[slot], g.held[slot] = r.seq, max(to, 1)
	if r.watch.waiting {
		r.askLocked()
	}
	return r.seq
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

// unsent returns a generation that was not sent to a trainer yet, and a descriptor for it that stays
// valid when the generation goes. It returns nil when the trainer has it.
func (r *ring) unsent(number uint32, reader int) (*generation, *os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.all[number]
	if g == nil || g.sent>>reader&1 == 1 {
		return nil, nil, nil
	}
	fd, err := unix.FcntlInt(g.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("dup", err)
	}
	g.sent |= 1 << reader
	return g, os.NewFile(uintptr(fd), g.file.Name()), nil
}

// stop ends every Begin.
func (r *ring) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

func (r *ring) stopLocked() {
	if !r.closed {
		r.closed = true
		r.watch.stop()
		close(r.gone)
	}
}

// close takes all slots back from all trainers.
func (r *ring) close() error { return r.leave(^uint64(0)) }

// leave takes all slots back from trainers that have gone. After the last the ring is closed: the
// memory goes when the loader has given back its last slot.
func (r *ring) leave(readers uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readers &^= readers; r.readers == 0 {
		r.stopLocked()
	}
	for _, g := range r.all {
		for i, held := range g.held {
			g.held[i] = held &^ readers
			if held != 0 && g.held[i] == 0 {
				g.give(uint32(i))
				r.used--
			}
		}
		r.dropLocked(g)
	}
	r.wake()
	return r.closing
}
