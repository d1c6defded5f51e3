package engine

import (
	"context"
	"errors"
	"math/bits"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

// errGone fails what is done for a trainer that has gone.
var errGone = errors.New("the trainer has gone")

// A ring is the shared memory of one consumer, or of replicas: the allocator of the loader of their
// batches. The loader has a slot from Begin to announce, then the trainers until each has released
// it. At most need.slots slots are in use at a time, over all generations, so a slot in use always
// has a place in the newest generation too. Fewer are open at first, so that no more memory becomes
// resident, and page-locked, than training needs: more are opened when a trainer waits although the
// loader had to stop, because it had no slot.
//
// Generations count in the account of the stream. A larger one is made while memory is plenty. Else
// a batch that outgrows its slot gets a generation of its own, which takes what the batch takes, in
// the batch's turn.
type ring struct {
	gone  chan struct{} // closed by close
	freed chan struct{} // wakes Begin

	mu      sync.Mutex
	watch   watch
	breach  []func(error) // by trainer: ends the connection of one that released what it does not have
	need    ringNeed
	readers uint64          // trainers that have not gone, a bit for each
	number  uint32          // of the next generation
	account *mem.Account    // nil before Use
	life    context.Context // ends with the ring
	end     context.CancelCauseFunc
	used    int  // slots
	open    int  // slots that may be in use
	stopped bool // the loader had made all batches, and waited for a slot, since open last grew
	seq     uint64
	newest  *generation
	all     map[uint32]*generation
	closed  bool
	closing error
}

func newRing() *ring { return newSharedRing(1, 0) }

// newSharedRing returns a ring for a number of reading trainers. Its generations count from first.
func newSharedRing(readers int, first uint32) *ring {
	r := &ring{
		gone: make(chan struct{}), freed: make(chan struct{}, 1), all: map[uint32]*generation{}, number: first, breach: make([]func(error), readers),
	}
	r.life, r.end = context.WithCancelCause(context.Background())
	for i := range readers {
		r.readers |= 1 << i
	}
	return r
}

// isOf reports whether the ring has this number of readers.
func (r *ring) isOf(readers int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed && bits.OnesCount64(r.readers) == readers
}

// next is the number of a generation after all of this ring.
func (r *ring) next() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.number
}

// Use makes the ring keep to the memory of a stream, which counts what the ring has already.
func (r *ring) Use(a *iterable.Account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	account := (*mem.Account)(a)
	r.account = account
	for _, g := range r.all {
		if g.account == account {
			continue
		}
		if g.account = account; account.TryGrow(mem.Batch, g.counted) != nil {
			account.Charge(mem.Batch, g.counted) // a quarter more than the estimate, at most
		}
	}
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
	if r.newest != nil && !r.newest.widened { // the stream of a widened one may have had more memory
		size, slots = int64(r.newest.size), r.newest.slots()
	}
	if slots < need.slots || size < need.bytes {
		if err := r.growLocked(need.slots, max(size, need.bytes)); err != nil {
			return err
		}
	}
	r.need = need
	if first := min(need.first, need.slots); first > 0 {
		r.open = max(r.open, first)
	} else {
		r.open = need.slots
	}
	r.wake()
	return nil
}

// growLocked adds a generation. The one before goes when its last slot is free.
func (r *ring) growLocked(slots int, size int64) error {
	before := r.newest
	g, err := newGeneration(r.number, slots, size, len(r.breach))
	if err != nil {
		return err
	}
	r.addLocked(g)
	r.newest = g
	if before != nil {
		r.askAllLocked(before)
		r.dropLocked(before)
	}
	return nil
}

func (r *ring) addLocked(g *generation) {
	r.all[g.number] = g
	r.number = g.number + 1
}

// widenLocked makes slots of at least n bytes, and some more, while memory is plenty. It reports
// whether slots have n bytes.
func (r *ring) widenLocked(n int64) (bool, error) {
	if n <= int64(r.newest.size) {
		return true, nil
	}
	size := roundSlot(max(n+n/4, 2*int64(r.newest.size)))
	if size > maxRingSize/int64(r.need.slots) {
		return false, nil
	}
	total := size * int64(r.need.slots)
	if r.account != nil && !r.account.GrowPlenty(mem.Batch, total) {
		return false, nil
	}
	if err := r.growLocked(r.need.slots, size); err != nil {
		if r.account != nil {
			r.account.Release(mem.Batch, total)
		}
		return false, err
	}
	r.newest.widened, r.newest.account = true, r.account
	return true, nil
}

// dropLocked frees a generation that is not used any more.
func (r *ring) dropLocked(g *generation) {
	if g.used > 0 || g == r.newest && !r.closed || r.all[g.number] != g {
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

// take returns a slot, or nil if no slot is free.
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
	if _, err := r.widenLocked(int64(size)); err != nil {
		return nil, err
	}
	r.used++
	s := &slot{ring: r, ctx: context.Background(), at: r.newest, n: firstByte}
	if s.index = s.at.take(); r.account != nil {
		s.turn = r.account.Turn()
	}
	return s, nil
}

// larger takes a slot of at least n bytes for a batch that has outgrown its slot, which it keeps:
// one of all slots while memory is plenty, else a slot of its own.
func (r *ring) larger(n int64) (*generation, uint32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, 0, errGone
	}
	if ok, err := r.widenLocked(n); ok || err != nil {
		return r.newest, r.newest.take(), err
	}
	most := n
	if r.account != nil {
		most = min(max(n, r.account.Room(mem.Batch)), maxRingSize)
	}
	g, err := newSingle(r.number, most, len(r.breach))
	if err != nil {
		return nil, 0, err
	}
	r.addLocked(g)
	g.account = r.account
	return g, g.take(), nil
}

// announced gives a slot to trainers and returns its sequence number. The batch's turn is over when
// they have released the slot.
func (r *ring) announced(g *generation, slot uint32, to uint64, turn *mem.Turn) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped && r.openMoreLocked() {
		r.wake()
	}
	r.seq++
	g.seqs[slot], g.held[slot], g.turns[slot] = r.seq, max(to, 1), turn
	if r.watch.waiting {
		r.stopped = r.stopped || r.makingLocked() == 0
		r.askLocked()
	}
	return r.seq
}

// give takes back a slot that was not announced. last reports that its batch has no other slot.
func (r *ring) give(g *generation, slot uint32, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.giveLocked(g, slot)
	if last {
		r.used--
		r.wake()
	}
}

// giveLocked frees a slot. The turn of its batch is over when its memory is counted as free.
func (r *ring) giveLocked(g *generation, slot uint32) {
	turn := g.turns[slot]
	g.give(slot)
	r.dropLocked(g)
	if turn != nil {
		turn.Over()
	}
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

// unsent returns a generation that was not sent to a trainer yet, and a descriptor for it that
// stays valid when the generation goes. It returns nil when the trainer has it.
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
		r.end(errGone)
		r.closed = true
		r.watch.stop()
		close(r.gone)
	}
}

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
				r.giveLocked(g, uint32(i))
				r.used--
			}
		}
		r.dropLocked(g)
	}
	r.wake()
	return r.closing
}
