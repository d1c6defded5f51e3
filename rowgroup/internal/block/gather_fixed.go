package block

import (
	"iter"
	"math/bits"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// A source is where the values of one block's Fixed vector are.
type source struct {
	data  unsafe.Pointer // values, or the dictionary's
	codes unsafe.Pointer // nil: values are in data themselves
	width uint8          // bytes of a code; 0: plain
	step  uintptr        // bytes from a code, or a plain value, to the next
}

// zeros serves reads of an all-null vector without storage, with codes that are all zero.
var zeros [64]byte

// source is where values of width bytes are.
func (v *Vector) source(width int) (s source, stored bool) {
	switch {
	case v.Codes != nil:
		return codedSource(v.Dict, v.Codes, v.CodeWidth, v.CodeWidth), true
	case v.Slots != nil && v.Dict != nil:
		return codedSource(v.Dict, v.Slots, v.CodeWidth, v.Step), true
	case v.Data != nil:
		return source{data: unsafe.Pointer(unsafe.SliceData(v.Data)), step: uintptr(width)}, true
	case v.Slots != nil:
		return source{data: unsafe.Pointer(unsafe.SliceData(v.Slots)), step: uintptr(v.Step)}, true
	}
	return source{}, false
}

func codedSource(dict *Vector, codes []byte, width, step int) source {
	return source{
		data: unsafe.Pointer(unsafe.SliceData(dict.Data)), codes: unsafe.Pointer(unsafe.SliceData(codes)), width: uint8(width), step: uintptr(step),
	}
}

// fixed gathers values of one width into the array's data. Bytes under a null are zero afterwards.
func (g *Gatherer) fixed(a *column.Array, vecs []*Vector, picks []Pick) error {
	if isInt96(a.Field, vecs) {
		return g.castFixed(a, int96Caster(a.Field.Unit), vecs, picks)
	}
	g.copyFixed(a, vecs, picks)
	return nil
}

func (g *Gatherer) copyFixed(a *column.Array, vecs []*Vector, picks []Pick) {
	w, dst := a.Field.Width, a.Data
	srcs, stored := appendSources(g.srcs[:0], vecs, w)
	g.srcs = srcs
	if len(picks) == 0 {
		return
	}
	if stored && g.records.has(picks) && g.records.fixed(dst, vecs, srcs, w) {
		if a.Nulls > 0 {
			clearNulls(dst, a.Valid, w, len(picks))
		}
		return
	}
	if !stored || !g.sorted.has(picks) || !gatherSorted(dst, srcs, w, &g.sorted) {
		gatherValues(dst, srcs, stored, w, picks)
	}
	if a.Nulls > 0 {
		clearNulls(dst, a.Valid, w, len(picks))
	}
}

// appendSources appends the sources of vectors of Fixed values, and whether all store some.
func appendSources(srcs []source, vecs []*Vector, width int) (all []source, stored bool) {
	stored = true
	for _, v := range vecs {
		s, has := v.source(width)
		stored = stored && has
		srcs = append(srcs, s)
	}
	return srcs, stored
}

// gatherValues copies fixed values of one width.
func gatherValues(dst []byte, srcs []source, stored bool, w int, picks []Pick) {
	switch {
	case !stored:
		gatherSparse(dst, srcs, w, picks)
	case w == 4:
		gatherWords[uint32](dst, srcs, picks)
	case w == 8:
		gatherWords[uint64](dst, srcs, picks)
	case w == 1:
		gatherWords[uint8](dst, srcs, picks)
	case w == 2:
		gatherWords[uint16](dst, srcs, picks)
	case w == 16:
		gatherWords[[2]uint64](dst, srcs, picks)
	default:
		gatherSparse(dst, srcs, w, picks)
	}
}

// gatherWords copies values that are one machine word (or two). The branch on the width of codes is
// the same for nearly all picks.
func gatherWords[T uint8 | uint16 | uint32 | uint64 | [2]uint64](dst []byte, srcs []source, picks []Pick) {
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(dst))), len(picks))
	size := unsafe.Sizeof(*new(T))
	for i, p := range picks {
		s := &srcs[p>>32]
		k := uintptr(uint32(p)) * s.step
		switch s.width {
		case 0:
		case 1:
			k = uintptr(*(*uint8)(unsafe.Add(s.codes, k))) * size
		case 2:
			k = uintptr(*(*uint16)(unsafe.Add(s.codes, k))) * size
		default:
			k = uintptr(*(*uint32)(unsafe.Add(s.codes, k))) * size
		}
		out[i] = *(*T)(unsafe.Add(s.data, k))
	}
}

// gatherSparse copies values of any width, and zeros from blocks that store none.
func gatherSparse(dst []byte, srcs []source, w int, picks []Pick) {
	for i, p := range picks {
		d := dst[i*w : i*w+w]
		s := &srcs[p>>32]
		if s.data == nil {
			clear(d)
			continue
		}
		copy(d, unsafe.Slice((*byte)(s.at(uintptr(uint32(p)), uintptr(w))), w))
	}
}

// at is where value i of w bytes is, among the stored values or in the dictionary.
func (s *source) at(i, w uintptr) unsafe.Pointer {
	k := i * s.step
	switch s.width {
	case 1:
		k = uintptr(*(*uint8)(unsafe.Add(s.codes, k))) * w
	case 2:
		k = uintptr(*(*uint16)(unsafe.Add(s.codes, k))) * w
	case 4:
		k = uintptr(*(*uint32)(unsafe.Add(s.codes, k))) * w
	}
	return unsafe.Add(s.data, k)
}

// clearNulls zeroes the values whose bit is not set.
func clearNulls(dst, valid []byte, w, n int) {
	switch w {
	case 4:
		clearWords(mem.As[uint32](dst), valid, n)
		return
	case 8:
		clearWords(mem.As[uint64](dst), valid, n)
		return
	}
	for k := range nulls(valid, n) {
		clear(dst[k*w : k*w+w])
	}
}

func clearWords[T uint32 | uint64](dst []T, valid []byte, n int) {
	for k := range nulls(valid, n) {
		dst[k] = 0
	}
}

// nulls are the places of the bits that are not set among n.
func nulls(valid []byte, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i*8 < n; i++ {
			for absent := ^valid[i]; absent != 0; absent &= absent - 1 {
				if k := i*8 + bits.TrailingZeros8(absent); k >= n || !yield(k) {
					return
				}
			}
		}
	}
}
