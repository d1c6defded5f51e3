package feed

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	hugePage    = 2 << 20   // bytes: what slots are rounded to that are much larger, so that huge pages lie in one slot each
	touchStep   = 1 << 20   // bytes of a slot that are brought in at a time
	maxRingSize = 1<<46 - 1 // bytes: address space that any machine has
)

// A generation is a piece of shared memory: slots of one size. Its ring's lock guards all but the bytes and touched, which belong to who
// holds the slot.
type generation struct {
	number uint32
	size   int // of a slot, bytes
	file   *os.File
	memory []byte

	sent    bool
	free    []uint32 // slots that nobody uses; the last one that was freed is the next to be used, since its pages are in memory
	used    int
	seqs    []uint64 // by slot, of the batch that the trainer has; 0: none
	touched []int    // by slot, bytes that have pages
	giving  []func() // what gives back the bytes that were reserved
}

// roundSlot makes slots begin where pages do.
func roundSlot(n int64) int64 {
	align := int64(os.Getpagesize())
	if n >= 8*hugePage {
		align = hugePage
	}
	return max(align, (n+align-1)/align*align)
}

func newGeneration(number uint32, slots int, size int64) (*generation, error) {
	size = roundSlot(size)
	if size > math.MaxInt64/int64(slots) || size*int64(slots) > maxRingSize {
		return nil, ringError(slots, size, unix.ENOMEM)
	}
	g := &generation{number: number, size: int(size), seqs: make([]uint64, slots), touched: make([]int, slots)}
	for i := range slots {
		g.free = append(g.free, uint32(slots-1-i))
	}
	var err error
	if g.file, err = shareFile(int(size) * slots); err != nil {
		return nil, ringError(slots, size, err)
	}
	g.memory, err = unix.Mmap(int(g.file.Fd()), 0, int(size)*slots, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = g.file.Close()
		return nil, ringError(slots, size, err)
	}
	if size >= hugePage {
		adviseHuge(g.memory)
	}
	return g, nil
}

// A RingError says that there is no memory for the ring of a trainer.
type RingError struct {
	Slots int
	Size  int64 // of a slot
	Err   error
}

func (e *RingError) Error() string {
	return fmt.Sprintf("shared memory of %d slots of %v for batches: %v (a smaller batch_size, fewer columns or fewer slots take less)",
		e.Slots, mem.Bytes(e.Size), e.Err)
}

func (e *RingError) Unwrap() error { return e.Err }

func ringError(slots int, size int64, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError("map", errno)
	}
	return &RingError{Slots: slots, Size: size, Err: err}
}

func (g *generation) slots() int { return len(g.seqs) }

// bytes are those of a slot.
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
	g.seqs[slot] = 0
	g.free = append(g.free, slot)
	g.used--
}

// touch brings in a slot's bytes up to end, so that a write to them finds memory. reserve admits those beyond foretold.
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

// close gives the memory back. Nobody may use a slot any more.
func (g *generation) close() error {
	err := unix.Munmap(g.memory)
	g.memory = nil
	if e := g.file.Close(); err == nil {
		err = e
	}
	for _, give := range g.giving {
		give()
	}
	g.giving = nil
	return err
}
