package mem

import (
	"slices"
	"unsafe"
)

// slabBytes is the size and the alignment of a slab, from which buffers smaller than a huge page
// are cut: a buffer's address therefore identifies its slab.
const slabBytes = 2 * hugePage

// A slab is one mapping cut into buffers of one class. It goes back as a whole once all of them are
// free, for any class or to be unmapped.
type slab struct {
	mapping
	class int
	free  []int32 // offsets of the free buffers
}

// cut makes all buffers of the slab free ones of class c.
func (s *slab) cut(c int) {
	s.class, s.free = c, s.free[:0]
	for at := slabBytes / c * c; at > 0; at -= c {
		s.free = append(s.free, int32(at-c))
	}
}

func (s *slab) take() []byte {
	at := int(s.free[len(s.free)-1])
	s.free = s.free[:len(s.free)-1]
	return s.b[at : at+s.class : at+s.class]
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// slabs are the slabs of a pool.
type slabs struct {
	at      map[uintptr]*slab // by address
	partial map[int][]*slab   // by class: some buffers are free, and some are not
	spare   []*slab           // all is free
}

// take returns a free buffer of class c, or nil: from the fullest slab, so that the others may
// become empty.
func (s *slabs) take(c int) []byte {
	list := s.partial[c]
	if len(list) == 0 {
		return nil
	}
	fullest := 0
	for i, x := range list {
		if len(x.free) < len(list[fullest].free) {
			fullest = i
		}
	}
	x := list[fullest]
	b := x.take()
	if len(x.free) == 0 {
		s.leave(c, fullest)
	}
	return b
}

// add maps a spare slab, and reports whether it has huge pages.
func (s *slabs) add(p *pages) (huge bool) {
	if s.at == nil {
		s.at, s.partial = map[uintptr]*slab{}, map[int][]*slab{}
	}
	x := &slab{mapping: p.newMapping(slabBytes, slabBytes)}
	s.at[address(x.b)] = x
	s.spare = append(s.spare, x)
	return !x.small
}

// begin cuts a spare slab for class c and returns its first buffer.
func (s *slabs) begin(c int) []byte {
	x := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	x.cut(c)
	b := x.take()
	if len(x.free) > 0 {
		s.partial[c] = append(s.partial[c], x)
	}
	return b
}

// put takes a buffer back. emptied reports whether its slab became spare.
func (s *slabs) put(b []byte) (emptied bool) {
	x := s.at[address(b)&^(slabBytes-1)]
	if len(x.free) == 0 {
		s.partial[x.class] = append(s.partial[x.class], x)
	}
	x.free = append(x.free, int32(address(b)-address(x.b)))
	if len(x.free) < slabBytes/x.class {
		return false
	}
	s.leave(x.class, slices.Index(s.partial[x.class], x))
	s.spare = append(s.spare, x)
	x.advise()
	return true
}

func (s *slabs) unmapSpare() {
	x := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	delete(s.at, address(x.b))
	unmap(x.whole)
}

// leave removes the i-th slab from the class's list of slabs with free buffers.
func (s *slabs) leave(class, i int) { s.partial[class] = slices.Delete(s.partial[class], i, i+1) }
