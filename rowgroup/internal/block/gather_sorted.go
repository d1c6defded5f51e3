package block

import (
	"math/bits"
	"slices"
	"unsafe"
)

const (
	sortedRows = 2048 // picks that are sorted at once: their values of a column stay in the first-level cache
	leastRun   = 4    // picks of a block, on average, from which sorting pays
	askedBytes = 1024 // that are asked for of a run at most: the processor foresees what follows

	sortedColumns = 4 // of fixed values that take the time that sorting picks takes, or more
)

// sortedPicks are picks by block. A column is then read block by block: the properties of a block
// are looked up once for a run of picks, and each cache line is fetched once even if many blocks
// are alike, as in sources that go through row groups of one size in step.
type sortedPicks struct {
	of   []Pick   // that were sorted
	rows []uint32 // of the blocks
	at   []uint32 // places among the picks
	runs []pickRun
	ends []int // of the blocks' runs in a tile
}

// A pickRun is picks of one block, rows[from:end]. If the block's rows are in the order of the
// picks, the rows of a run are adjacent.
type pickRun struct {
	block, from, end int
	dense            bool // each row is the one after the row before
}

// Prepare prepares to gather columns at the picks; fixed is a hint of how many columns have fixed
// width. It holds until the next call, as long as the picks do not change.
func (g *Gatherer) Prepare(blocks []*Block, picks []Pick, fixed int) {
	s := &g.sorted
	s.of, s.runs = nil, s.runs[:0]
	if g.copyRecords(blocks, picks); g.records.of != nil {
		return
	}
	if fixed < sortedColumns || len(picks) < leastRun*len(blocks) || len(picks) == 0 {
		return
	}
	s.of = picks
	s.rows, s.at = slices.Grow(s.rows[:0], len(picks))[:len(picks)], slices.Grow(s.at[:0], len(picks))[:len(picks)]
	s.ends = slices.Grow(s.ends[:0], len(blocks)+1)[:len(blocks)+1]
	for lo := 0; lo < len(picks); lo += sortedRows {
		s.tile(lo, picks[lo:min(lo+sortedRows, len(picks))])
	}
	for i := range s.runs {
		r := &s.runs[i]
		r.dense = isDense(s.rows[r.from:r.end])
	}
}

func isDense(rows []uint32) bool {
	for i, row := range rows {
		if row != rows[0]+uint32(i) {
			return false
		}
	}
	return true
}

// tile sorts some picks by block, with a counting sort. Picks of a block keep their order.
func (s *sortedPicks) tile(lo int, picks []Pick) {
	clear(s.ends)
	for _, p := range picks {
		s.ends[p>>32+1]++
	}
	end := lo
	for block, n := range s.ends[1:] {
		s.ends[block] = end
		if n > 0 {
			s.runs = append(s.runs, pickRun{block: block, from: end, end: end + n})
		}
		end += n
	}
	for i, p := range picks {
		k := s.ends[p>>32]
		s.ends[p>>32]++
		s.rows[k], s.at[k] = uint32(p), uint32(lo+i)
	}
}

// has reports whether these are the picks that were sorted.
func (s *sortedPicks) has(picks []Pick) bool { return samePicks(picks, s.of) }

// samePicks reports whether two slices are the same memory.
func samePicks(a, b []Pick) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// gatherSorted is gatherValues of sorted picks; false when it has no way for the width.
func gatherSorted(dst []byte, srcs []source, w int, s *sortedPicks) bool {
	switch w {
	case 1:
		gatherRuns[uint8](dst, srcs, s)
	case 2:
		gatherRuns[uint16](dst, srcs, s)
	case 4:
		gatherRuns[uint32](dst, srcs, s)
	case 8:
		gatherRuns[uint64](dst, srcs, s)
	default:
		return false
	}
	return true
}

func gatherRuns[T uint8 | uint16 | uint32 | uint64](dst []byte, srcs []source, s *sortedPicks) {
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(s.of))
	for k, r := range s.runs {
		s.ask(k+2, srcs)
		src, rows, at := &srcs[r.block], s.rows[r.from:r.end], s.at[r.from:r.end]
		switch src.width {
		case 0:
			copyRun(out, src, rows, at, r.dense)
		case 1:
			lookUpRun[T, uint8](out, src, rows, at, r.dense)
		case 2:
			lookUpRun[T, uint16](out, src, rows, at, r.dense)
		default:
			lookUpRun[T, uint32](out, src, rows, at, r.dense)
		}
	}
}

// ask asks the processor for the values or codes of run k, if there is one. Others are copied
// meanwhile.
func (s *sortedPicks) ask(k int, srcs []source) {
	if k >= len(s.runs) || !s.runs[k].dense {
		return
	}
	r := &s.runs[k]
	src := &srcs[r.block]
	p := src.data
	if src.width > 0 {
		p = src.codes
	}
	prefetchNear(unsafe.Add(p, uintptr(s.rows[r.from])*src.step), min(askedBytes, uintptr(r.end-r.from)*src.step))
}

// sideBySide returns n values, or codes, as a slice; nil if step, their distance, leaves gaps.
func sideBySide[T uint8 | uint16 | uint32 | uint64](data unsafe.Pointer, step uintptr, first uint32, n int) []T {
	if step != unsafe.Sizeof(T(0)) {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Add(data, uintptr(first)*step)), n)
}

func copyRun[T uint8 | uint16 | uint32 | uint64](out []T, s *source, rows, at []uint32, dense bool) {
	at = at[:len(rows)]
	if dense {
		if values := sideBySide[T](s.data, s.step, rows[0], len(rows)); values != nil {
			for i, place := range at {
				out[place] = values[i]
			}
			return
		}
	}
	data, step := s.data, s.step
	for i, row := range rows {
		out[at[i]] = *(*T)(unsafe.Add(data, uintptr(row)*step))
	}
}

func lookUpRun[T uint8 | uint16 | uint32 | uint64, C uint8 | uint16 | uint32](out []T, s *source, rows, at []uint32, dense bool) {
	at = at[:len(rows)]
	if dense {
		if codes := sideBySide[C](s.codes, s.step, rows[0], len(rows)); codes != nil {
			for i, place := range at {
				out[place] = *(*T)(unsafe.Add(s.data, uintptr(codes[i])*unsafe.Sizeof(T(0))))
			}
			return
		}
	}
	for i, row := range rows {
		code := *(*C)(unsafe.Add(s.codes, uintptr(row)*s.step))
		out[at[i]] = *(*T)(unsafe.Add(s.data, uintptr(code)*unsafe.Sizeof(T(0))))
	}
}

// valid sets the bits of values that are present, and returns how many are null; false when a
// vector has its validity in records. Few values are null as a rule: only these are looked at.
func (s *sortedPicks) valid(octets []byte, vecs []*Vector) (nulls int, ok bool) {
	if slices.ContainsFunc(vecs, func(v *Vector) bool { return v.Marks != nil }) {
		return 0, false
	}
	for i := range octets {
		octets[i] = 0xff
	}
	if more := len(s.of) & 7; more > 0 {
		octets[len(octets)-1] = 1<<more - 1
	}
	for _, r := range s.runs {
		v, rows, at := vecs[r.block], s.rows[r.from:r.end], s.at[r.from:r.end]
		switch {
		case v.Nulls == 0:
		case v.Valid != nil && r.dense:
			nulls += clearRun(octets, v.Valid, rows[0], at)
		default:
			for k, row := range rows {
				if v.Valid == nil || v.Valid[row>>6]>>(row&63)&1 == 0 {
					clearBit(octets, int(at[k]))
					nulls++
				}
			}
		}
	}
	return nulls, true
}

// clearRun clears the bits of the nulls among values from row on.
func clearRun(octets []byte, valid []uint64, row uint32, at []uint32) (nulls int) {
	for len(at) > 0 {
		n := min(len(at), 64-int(row&63))
		missing := ^(valid[row>>6] >> (row & 63)) & (1<<n - 1)
		nulls += bits.OnesCount64(missing)
		for ; missing != 0; missing &= missing - 1 {
			clearBit(octets, int(at[bits.TrailingZeros64(missing)]))
		}
		at, row = at[n:], row+uint32(n)
	}
	return nulls
}

func clearBit(octets []byte, i int) { octets[i>>3] &^= 1 << (i & 7) }
