package engine

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	hugePage    = 2 << 20   // bytes; much larger slots are rounded to it, so that a huge page lies in one slot
	touchStep   = 1 << 20   // bytes of a slot that are made present at a time
	maxRingSize = 1<<46 - 1 // bytes: address space that any machine has
)

// A generation is a piece of shared memory with slots of one size. The ring's lock guards it,
// except for the bytes of a slot and its entry in touched, which belong to the holder of the slot.
type generation struct {
	number uint32
	size   int // of a slot, bytes
	file   *os.File
	memory []byte // slots, then words

	sent    uint64   // readers that have its descriptor, a bit for each
	free    []uint32 // slots; the last freed one is used next, as its pages are in memory
	used    int
	seqs    []uint64 // by slot, of the batch that trainers have; 0: none
	held    []uint64 // by slot, the readers that have not given it back
	touched []int    // by slot, bytes that have pages
	giving  []func() // give back reserved bytes
}

func roundSlot(n int64) int64 {
	align := int64(os.Getpagesize())
	if n >= 8*hugePage {
		align = hugePage
	}
	return max(align, (n+align-1)/align*align)
}

func newGeneration(number uint32, slots int, size int64, readers int) (*generation, error) {
	size = roundSlot(size)
	if size > math.MaxInt64/int64(slots) || size*int64(slots) > maxRingSize {
		return nil, ringError(slots, size, unix.ENOMEM)
	}
	first, words := int(size)*slots, wordsSize(slots, readers)
	g := &generation{number: number, size: int(size), seqs: make([]uint64, slots), held: make([]uint64, slots), touched: make([]int, slots)}
	for i := range slots {
		g.free = append(g.free, uint32(slots-1-i))
	}
	var err error
	if g.file, err = shareFile(first + words); err != nil {
		return nil, ringError(slots, size, err)
	}
	g.memory, err = unix.Mmap(int(g.file.Fd()), 0, first+words, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = g.file.Close()
		return nil, ringError(slots, size, err)
	}
	if err := bringIn(g.file, g.memory, first, words); err != nil {
		return nil, errors.Join(ringError(slots, size, err), g.close())
	}
	if size >= hugePage {
		adviseHuge(g.memory[:first])
	}
	return g, nil
}

func ringError(slots int, size int64, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError("map", errno)
	}
	return newFailure(KindMemory, "shared memory of %d slots of %v for batches: %v (a smaller batch_size, fewer columns or fewer slots take less)",
		slots, mem.Bytes(size), err)
}

func (g *generation) slots() int { return len(g.seqs) }

func (g *generation) bytes(slot uint32) []byte {
	at := int(slot) * g.size
	return g.memory[at : at+g.size : at+g.size]
}

func (g *generation) take() uint32 {
	slot := g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	g.used++
	return slot
}

func (g *generation) give(slot uint32) {
	g.seqs[slot], g.held[slot] = 0, 0
	g.free = append(g.free, slot)
	g.used--
}

// touch makes a slot's bytes up to end present, so that writing to them cannot fail. need.reserve
// admits bytes beyond the estimate.
func (g *generation) touch(slot uint32, end int, need ringNeed) (give func(), err error) {
	from := g.touched[slot]
	if end <= from {
		return nil, nil
	}
	to := min(g.size, (end+touchStep-1)/touchStep*touchStep)
	if beyond := int64(to) - max(int64(from), need.bytes); beyond > 0 && need.reserve != nil {
		if give, err = need.reserve(beyond); err != nil {
			return nil, err
		}
	}
	at := int(slot) * g.size
	if err := bringIn(g.file, g.memory, at+from, to-from); err != nil {
		if give != nil {
			give()
		}
		return nil, ringError(g.slots(), int64(g.size), err)
	}
	g.touched[slot] = to
	return give, nil
}

// close frees the memory. No slot may be in use.
func (g *generation) close() error {
	err := errors.Join(unix.Munmap(g.memory), g.file.Close())
	g.memory = nil
	for _, give := range g.giving {
		give()
	}
	g.giving = nil
	return err
}
