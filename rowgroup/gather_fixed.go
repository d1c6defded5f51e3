package rowgroup

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A source is where the values of one block's Fixed vector lie.
type source struct {
	data  unsafe.Pointer // values, or those of the dictionary
	codes unsafe.Pointer // nil: values stand in data themselves
	width uint8          // bytes of a code; 0: plain
}

// zeros is what an all-null vector without storage is read from, with codes that are all zero.
var zeros [64]byte

func (v *vector) source() (s source, stored bool) {
	switch {
	case v.codes != nil:
		return source{data: unsafe.Pointer(unsafe.SliceData(v.dict.data)), codes: unsafe.Pointer(unsafe.SliceData(v.codes)), width: uint8(v.codeWidth)}, true
	case v.data != nil:
		return source{data: unsafe.Pointer(unsafe.SliceData(v.data))}, true
	}
	return source{}, false
}

// fixed gathers values of one width into the array's data. Bytes under a null are zero afterwards.
func (g *Gatherer) fixed(a *column.Array, vecs []*vector, picks []Pick) {
	w, dst := a.Field.Width, a.Data
	srcs, stored := appendSources(g.srcs[:0], vecs)
	g.srcs = srcs
	if len(picks) == 0 {
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
func appendSources(srcs []source, vecs []*vector) (all []source, stored bool) {
	stored = true
	for _, v := range vecs {
		s, has := v.source()
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
		k := uintptr(uint32(p))
		switch s.width {
		case 0:
		case 1:
			k = uintptr(*(*uint8)(unsafe.Add(s.codes, k)))
		case 2:
			k = uintptr(*(*uint16)(unsafe.Add(s.codes, k*2)))
		default:
			k = uintptr(*(*uint32)(unsafe.Add(s.codes, k*4)))
		}
		out[i] = *(*T)(unsafe.Add(s.data, k*size))
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
		k := s.at(uintptr(uint32(p)))
		copy(d, unsafe.Slice((*byte)(unsafe.Add(s.data, k*uintptr(w))), w))
	}
}

// at is the place of value i among the stored values or in the dictionary.
func (s *source) at(i uintptr) uintptr {
	switch s.width {
	case 1:
		return uintptr(*(*uint8)(unsafe.Add(s.codes, i)))
	case 2:
		return uintptr(*(*uint16)(unsafe.Add(s.codes, i*2)))
	case 4:
		return uintptr(*(*uint32)(unsafe.Add(s.codes, i*4)))
	}
	return i
}

// clearNulls zeroes the values whose bit is not set.
func clearNulls(dst, valid []byte, w, n int) {
	for i, b := range valid {
		if b == 0xff {
			continue
		}
		for k := i * 8; k < min(i*8+8, n); k++ {
			if b>>(k&7)&1 == 0 {
				clear(dst[k*w : k*w+w])
			}
		}
	}
}
