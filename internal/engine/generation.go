package engine

import (
	"errors"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	hugePage    = 2 << 20   // bytes; much larger slots are rounded to it, so that slots do not share a huge page
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
	seqs    []uint64    // by slot, of the batch that trainers have, or 0
	held    []uint64    // by slot, the readers that have not given it back
	turns   []*mem.Turn // by slot, of the batch that trainers have
	touched []int       // by slot, bytes that have pages

	account *mem.Account // that counts it, or nil
	counted int64        // bytes
	widened bool         // it has more bytes than was asked for
	single  bool         // it has one slot, of one batch, and is as large as the batch once that is made
}

func roundSlot(n int64) int64 {
	align := int64(os.Getpagesize())
	if n >= 8*hugePage {
		align = hugePage
	}
	return max(align, (n+align-1)/align*align)
}

func newGeneration(number uint32, slots int, size int64, readers int) (*generation, error) {
	g, err := mapGeneration(number, slots, size, readers)
	if err != nil {
		return nil, err
	}
	if err := g.fix(readers); err != nil {
		return nil, errors.Join(ringError(slots, int64(g.size), err), g.close())
	}
	g.counted = int64(g.size) * int64(slots)
	return g, nil
}

// newSingle returns a generation of one slot for one batch of at most most bytes. It takes memory
// as the batch grows. Trainers get it after cut has set the batch's size.
func newSingle(number uint32, most int64, readers int) (*generation, error) {
	g, err := mapGeneration(number, 1, most, readers)
	if err == nil {
		g.single = true
	}
	return g, err
}

// mapGeneration maps a file that has no memory yet, and may become smaller.
func mapGeneration(number uint32, slots int, size int64, readers int) (*generation, error) {
	size = roundSlot(size)
	if size > math.MaxInt64/int64(slots) || size*int64(slots) > maxRingSize {
		return nil, ringError(slots, size, unix.ENOMEM)
	}
	g := &generation{
		number: number, size: int(size), seqs: make([]uint64, slots), held: make([]uint64, slots), turns: make([]*mem.Turn, slots), touched: make([]int, slots),
	}
	for i := range slots {
		g.free = append(g.free, uint32(slots-1-i))
	}
	first, words := int(size)*slots, wordsSize(slots, readers)
	var err error
	if g.file, err = shareFile(first + words); err != nil {
		return nil, ringError(slots, size, err)
	}
	g.memory, err = unix.Mmap(int(g.file.Fd()), 0, first+words, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = g.file.Close()
		return nil, ringError(slots, size, err)
	}
	if size >= hugePage {
		adviseHuge(g.memory[:first])
	}
	return g, nil
}

// fix makes the words present and the size of the file final.
func (g *generation) fix(readers int) error {
	first, words := g.size*g.slots(), wordsSize(g.slots(), readers)
	if first+words < len(g.memory) {
		if err := g.file.Truncate(int64(first + words)); err != nil {
			return err
		}
	}
	return errors.Join(bringIn(g.file, g.memory, first, words), sealFile(g.file))
}

// cut gives a single generation the size of its batch, so that trainers can map it.
func (g *generation) cut(end, readers int) error {
	page := os.Getpagesize()
	g.size = (end + page - 1) / page * page
	if err := g.fix(readers); err != nil {
		return ringError(1, int64(g.size), err)
	}
	for reader := range readers {
		g.wanted(reader).Store(1) // it goes with its release
	}
	return nil
}

func ringError(slots int, size int64, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError("map", errno)
	}
	return wire.NewFailure(wire.KindMemory, "shared memory of %d slots of %v for batches: %v (a smaller batch_size, fewer columns or fewer slots take less)",
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
	g.seqs[slot], g.held[slot], g.turns[slot] = 0, 0, nil
	g.free = append(g.free, slot)
	g.used--
}

// touch makes a slot's bytes up to end present, so that writing to them cannot fail. take counts
// the bytes of a generation that is not counted as a whole.
func (g *generation) touch(slot uint32, end int, take func(bytes int64) error) error {
	from := g.touched[slot]
	if end <= from {
		return nil
	}
	to := min(g.size, (end+touchStep-1)/touchStep*touchStep)
	if g.single {
		if err := take(int64(to - from)); err != nil {
			return err
		}
		g.counted += int64(to - from)
	}
	at := int(slot) * g.size
	if err := bringIn(g.file, g.memory, at+from, to-from); err != nil {
		return ringError(g.slots(), int64(g.size), err)
	}
	g.touched[slot] = to
	return nil
}

// close frees the memory. No slot may be in use.
func (g *generation) close() error {
	err := errors.Join(unix.Munmap(g.memory), g.file.Close())
	g.memory = nil
	if g.account != nil {
		g.account.Release(mem.Batch, g.counted)
	}
	return err
}
