package block

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	leastSlots    = 4   // of a record, from which copying it pays
	recordsAhead  = 16  // rows before its copy a record is asked for
	mostRecordRow = 512 // bytes of a record that is copied; the columns of a larger one are not neighbours any more
	recordWord    = 8   // bytes; records are whole words, and slots of up to a word are in one

	mostCopied = 16 << 20 // bytes of a batch's copies: a worker's scratch, which no account counts
)

// recordCopies are the records of picked rows, word by word: the first words of all records in the
// order of the picks, then the second ones. Records that are picked at random are in as many pages,
// which each column would look up again; of the copies a column is read in order.
type recordCopies struct {
	of    []Pick // whose records they are
	words []uint64
	step  int // words from a word of a record to its next one
}

// copyRecords copies the records of picks, if all blocks have some and they are not too many.
func (g *Gatherer) copyRecords(blocks []*Block, picks []Pick) {
	c := &g.records
	c.of = nil
	size, alike := 0, true
	for _, b := range blocks {
		if b.record == 0 || b.slots < leastSlots || b.record > mostRecordRow || b.record%recordWord != 0 {
			return
		}
		alike = alike && (size == 0 || size == b.record)
		size = max(size, b.record)
	}
	if len(picks) == 0 || len(blocks) == 0 || len(picks)*size > mostCopied {
		return
	}
	// With an odd number of cache lines the words of a record fall into different sets of a cache.
	c.step = (len(picks)+7)&^7 | 8
	n := c.step*size/recordWord + 1 // packHalves may read one more
	c.words = slices.Grow(c.words[:0], n)[:n]
	alike = alike && canTranspose
	var from [4]unsafe.Pointer
	for i := 0; i < len(picks); i += len(from) {
		for k := i + recordsAhead; k < min(i+recordsAhead+len(from), len(picks)); k++ {
			b := blocks[picks[k]>>32]
			prefetch(unsafe.Pointer(&b.records[picks[k].Row()*b.record]), uintptr(b.record))
		}
		if alike {
			for k := range from {
				p := picks[min(i+k, len(picks)-1)]
				b := blocks[p>>32]
				from[k] = unsafe.Pointer(unsafe.SliceData(b.records[p.Row()*b.record:][:b.record]))
			}
			transposeRecords(&c.words[i], c.step, size/recordWord, &from)
			continue
		}
		for k := i; k < min(i+len(from), len(picks)); k++ {
			b := blocks[picks[k]>>32]
			for w, word := range mem.As[uint64](b.records[picks[k].Row()*b.record:][:b.record]) {
				c.words[w*c.step+k] = word
			}
		}
	}
	c.of = picks
}

// has reports whether these are the picks whose records were copied.
func (c *recordCopies) has(picks []Pick) bool { return len(picks) > 0 && samePicks(picks, c.of) }

// at returns the place of a byte in the copies: place is its offset in the first record. The same
// byte of the next record is a word further.
func (c *recordCopies) at(place int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(&c.words[place/recordWord*c.step]), place%recordWord)
}

// slotOf is where in their records vectors have their slots, and the bytes of their codes, if that
// is one for all, and a slot is in one word. w is the bytes of a value.
func slotOf(vecs []*Vector, w int) (slot, codeWidth int, ok bool) {
	first := vecs[0]
	for _, v := range vecs {
		if v.Slots == nil || v.Slot != first.Slot || v.CodeWidth != first.CodeWidth {
			return 0, 0, false
		}
	}
	if first.CodeWidth > 0 {
		w = first.CodeWidth
	}
	return first.Slot, first.CodeWidth, first.Slot%recordWord+w <= recordWord
}

// fixed is gatherValues of the copies; false when it has no way.
func (c *recordCopies) fixed(dst []byte, vecs []*Vector, srcs []source, w int) bool {
	slot, code, ok := slotOf(vecs, w)
	if !ok {
		return false
	}
	switch w {
	case 1:
		copySlots[uint8](dst, c, slot, code, srcs)
	case 2:
		copySlots[uint16](dst, c, slot, code, srcs)
	case 4:
		copySlots[uint32](dst, c, slot, code, srcs)
	case 8:
		copySlots[uint64](dst, c, slot, code, srcs)
	default:
		return false
	}
	return true
}

func copySlots[T uint8 | uint16 | uint32 | uint64](dst []byte, c *recordCopies, slot, code int, srcs []source) {
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(c.of))
	at := c.at(slot)
	switch code {
	case 0:
		copyParts(out, at)
	case 1:
		lookUpSlots[T, uint8](out, c.of, at, srcs)
	case 2:
		lookUpSlots[T, uint16](out, c.of, at, srcs)
	default:
		lookUpSlots[T, uint32](out, c.of, at, srcs)
	}
}

// copyParts copies a part of each word, the first of them at from.
func copyParts[T uint8 | uint16 | uint32 | uint64](out []T, from unsafe.Pointer) {
	done := 0
	switch parts := any(out).(type) {
	case []uint64:
		done = copy(parts, unsafe.Slice((*uint64)(from), len(parts)))
	case []uint32:
		if canTranspose {
			packHalves(parts, from)
			done = len(parts) &^ 7
		}
	}
	for i := done; i < len(out); i++ {
		out[i] = *(*T)(unsafe.Add(from, i*recordWord))
	}
}

func lookUpSlots[T uint8 | uint16 | uint32 | uint64, C uint8 | uint16 | uint32](out []T, picks []Pick, at unsafe.Pointer, srcs []source) {
	for i, p := range picks {
		code := *(*C)(unsafe.Add(at, i*recordWord))
		out[i] = *(*T)(unsafe.Add(srcs[p>>32].data, uintptr(code)*unsafe.Sizeof(T(0))))
	}
}

// valid sets the bits of values that are present, and returns how many are null. ok is false when
// the vectors keep their validity bits in different places.
func (c *recordCopies) valid(octets []byte, vecs []*Vector) (nulls int, ok bool) {
	first := vecs[0]
	for _, v := range vecs {
		if v.Marks == nil || v.MarkAt != first.MarkAt || v.Mark != first.Mark {
			return 0, false
		}
	}
	if canTranspose {
		bit := first.MarkAt%recordWord*8 + bits.TrailingZeros8(first.Mark)
		packBits(octets, &c.words[first.MarkAt/recordWord*c.step], bit)
	} else {
		clear(octets)
		for i, at := 0, c.at(first.MarkAt); i < len(c.of); i++ {
			mark := *(*byte)(unsafe.Add(at, i*recordWord))
			octets[i>>3] |= (mark & first.Mark) / first.Mark << (i & 7)
		}
	}
	if n := len(c.of); n&7 != 0 {
		octets[n>>3] &= 1<<(n&7) - 1
	}
	nulls = len(c.of)
	for _, b := range octets {
		nulls -= bits.OnesCount8(b)
	}
	return nulls, true
}
