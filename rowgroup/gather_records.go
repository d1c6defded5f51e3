package rowgroup

import (
	"slices"
	"unsafe"
)

const (
	leastSlots    = 4   // of a record, from which copying it pays
	recordsAhead  = 8   // rows before its copy a record is asked for
	mostRecordRow = 512 // bytes of a record that is copied; the columns of a larger one are not neighbours any more
)

// recordCopies are the records of picked rows, in the order of the picks. Records that are picked
// at random lie in as many pages, which each column would look up again; their copies lie in the
// second-level cache, one behind the other.
type recordCopies struct {
	of   []Pick // whose records they are
	data []byte
	step int
}

// copyRecords copies the records of picks, if all blocks have some.
func (g *Gatherer) copyRecords(blocks []*Block, picks []Pick) {
	c := &g.records
	c.of, c.step = nil, 0
	for _, b := range blocks {
		if b.record == 0 || b.slots < leastSlots || b.record > mostRecordRow {
			return
		}
		c.step = max(c.step, b.record)
	}
	if len(picks) == 0 || len(blocks) == 0 {
		return
	}
	c.data = slices.Grow(c.data[:0], len(picks)*c.step)[:len(picks)*c.step]
	for i, p := range picks {
		if i+recordsAhead < len(picks) {
			p := picks[i+recordsAhead]
			b := blocks[p>>32]
			prefetch(unsafe.Pointer(&b.records[p.Row()*b.record]), uintptr(b.record))
		}
		b := blocks[p>>32]
		copy(c.data[i*c.step:(i+1)*c.step], b.records[p.Row()*b.record:][:b.record])
	}
	c.of = picks
}

// has says whether these are the picks whose records were copied.
func (c *recordCopies) has(picks []Pick) bool { return len(picks) > 0 && samePicks(picks, c.of) }

// slotOf is where in their records vectors have their slots, and the bytes of their codes, if that
// is one for all.
func slotOf(vecs []*vector) (slot, codeWidth int, ok bool) {
	first := vecs[0]
	for _, v := range vecs {
		if v.slots == nil || v.slot != first.slot || v.codeWidth != first.codeWidth {
			return 0, 0, false
		}
	}
	return first.slot, first.codeWidth, true
}

// fixed is gatherValues of the copies; false when it has no way.
func (c *recordCopies) fixed(dst []byte, vecs []*vector, srcs []source, w int) bool {
	slot, code, ok := slotOf(vecs)
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
	switch code {
	case 0:
		at, step := unsafe.Pointer(&c.data[slot]), uintptr(c.step)
		for i := range out {
			out[i] = *(*T)(unsafe.Add(at, uintptr(i)*step))
		}
	case 1:
		lookUpSlots[T, uint8](out, c, slot, srcs)
	case 2:
		lookUpSlots[T, uint16](out, c, slot, srcs)
	default:
		lookUpSlots[T, uint32](out, c, slot, srcs)
	}
}

func lookUpSlots[T uint8 | uint16 | uint32 | uint64, C uint8 | uint16 | uint32](out []T, c *recordCopies, slot int, srcs []source) {
	at, step := unsafe.Pointer(&c.data[slot]), uintptr(c.step)
	for i, p := range c.of {
		code := *(*C)(unsafe.Add(at, uintptr(i)*step))
		out[i] = *(*T)(unsafe.Add(srcs[p>>32].data, uintptr(code)*unsafe.Sizeof(T(0))))
	}
}

// valid sets the bits of values that are present, and returns how many are null; false when the
// vectors differ in where they have them.
func (c *recordCopies) valid(bits []byte, vecs []*vector) (nulls int, ok bool) {
	first := vecs[0]
	for _, v := range vecs {
		if v.marks == nil || v.markAt != first.markAt || v.mark != first.mark {
			return 0, false
		}
	}
	at, step, shift := unsafe.Pointer(&c.data[first.markAt]), uintptr(c.step), first.mark
	octet := byte(0)
	for i := range c.of {
		bit := byte(0)
		if *(*byte)(unsafe.Add(at, uintptr(i)*step))&shift != 0 {
			bit = 1
		}
		nulls += int(1 - bit)
		octet |= bit << (i & 7)
		if i&7 == 7 {
			bits[i>>3], octet = octet, 0
		}
	}
	if n := len(c.of); n&7 != 0 {
		bits[n>>3] = octet
	}
	return nulls, true
}
