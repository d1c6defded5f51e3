package rowgroup

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// prefetchBytes is how much of a value is asked for ahead of its copy; the processor's own
// prefetcher follows after that.
const prefetchBytes = 256

// binary gathers byte strings.
func (g *Gatherer) binary(a *column.Array, vecs []*vector, picks []Pick, alloc column.Alloc) error {
	total := g.find(a, vecs, picks)
	if err := g.offsets(a, total, 1, alloc); err != nil {
		return err
	}
	var err error
	if a.Data, err = alloc(int(total)); err != nil {
		return err
	}
	copyValues(a.Data, g.ptrs, g.lens)
	return nil
}

// fixedItems gathers lists whose items are Fixed: the bytes of a row's items are copied as one
// value.
func (g *Gatherer) fixedItems(a *column.Array, vecs []*vector, picks []Pick, alloc column.Alloc) error {
	f := a.Field.Children[0]
	total, itemNulls := g.find(a, vecs, picks), slices.ContainsFunc(vecs, (*vector).hasItemNulls)
	if size := a.Field.ListSize; size > 0 {
		total = uint64(len(picks)) * uint64(size*f.Width)
	} else if err := g.offsets(a, total, uint32(f.Width), alloc); err != nil {
		return err
	}
	items := &column.Array{Field: f, Len: int(total) / f.Width}
	var err error
	if items.Data, err = alloc(int(total)); err != nil {
		return err
	}
	a.Children = []*column.Array{items}
	if a.Field.ListSize > 0 {
		g.copyRows(items.Data, a.Field.ListSize*f.Width)
	} else {
		copyValues(items.Data, g.ptrs, g.lens)
	}
	if itemNulls {
		return gatherItemNulls(a, items, vecs, picks, alloc)
	}
	return nil
}

// reserve makes room for n pointers and lengths.
func (g *Gatherer) reserve(n int) {
	g.ptrs = slices.Grow(g.ptrs[:0], n)[:n]
	g.lens = slices.Grow(g.lens[:0], n)[:n]
}

// offsets sets a.Offsets from the lengths in bytes, in units of width bytes.
func (g *Gatherer) offsets(a *column.Array, total uint64, width uint32, alloc column.Alloc) error {
	if total/uint64(width) > math.MaxInt32 {
		return fmt.Errorf("column %q: %d bytes of values do not fit one batch; lower the batch size", a.Field.Name, total)
	}
	b, err := alloc(4 * (a.Len + 1))
	if err != nil {
		return err
	}
	a.Offsets = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), a.Len+1)
	at := uint32(0)
	a.Offsets[0] = 0
	if width == 1 {
		for i, n := range g.lens {
			at += n
			a.Offsets[i+1] = int32(at)
		}
		return nil
	}
	for i, n := range g.lens {
		at += n / width
		a.Offsets[i+1] = int32(at)
	}
	return nil
}

// copyRows copies values of w bytes each; a shorter one, which only a null is, leaves zeros.
func (g *Gatherer) copyRows(dst []byte, w int) {
	for i, n := range g.lens {
		row := dst[i*w : i*w+w]
		k := copy(row, unsafe.Slice((*byte)(g.ptrs[i]), n))
		clear(row[k:])
	}
}

// value is where value i of a Binary vector begins, and its length in bytes.
func (v *vector) value(i int) (unsafe.Pointer, uint32) {
	switch {
	case v.dict != nil:
		if v.nulls > 0 && v.isNull(i) { // whose code is 0, that of an entry
			return unsafe.Pointer(&zeros), 0
		}
		return v.dict.value(v.code(i))
	case v.views == nil && v.slots == nil:
		return unsafe.Pointer(&zeros), 0
	}
	return v.view(i)
}

// view is value i of a vector with views.
func (v *vector) view(i int) (unsafe.Pointer, uint32) {
	w := uint64(0)
	if v.slots != nil {
		w = *(*uint64)(unsafe.Pointer(&v.slots[i*v.step]))
	} else {
		w = v.views[i]
	}
	begin, n := uintptr(w>>32), uint32(w)
	if v.chunkShift == 0 {
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(v.base[0])), begin), n
	}
	if n == 0 {
		return unsafe.Pointer(&zeros), 0
	}
	chunk := v.base[begin>>v.chunkShift]
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(chunk)), begin&(1<<v.chunkShift-1)), n
}

// code is the place of value i in the dictionary.
func (v *vector) code(i int) int {
	p, step := unsafe.Pointer(unsafe.SliceData(v.codes)), v.codeWidth
	if v.slots != nil {
		p, step = unsafe.Pointer(unsafe.SliceData(v.slots)), v.step
	}
	p = unsafe.Add(p, i*step)
	switch v.codeWidth {
	case 1:
		return int(*(*uint8)(p))
	case 2:
		return int(*(*uint16)(p))
	}
	return int(*(*uint32)(p))
}

// itemBytes is where the items of list i begin and how many bytes they have; items are Fixed of
// width w.
func (v *vector) itemBytes(i, w int) (unsafe.Pointer, uint32) {
	switch {
	case v.views != nil || v.slots != nil:
		return v.view(i)
	case v.data != nil:
		n := v.stride * w
		if v.nulls > 0 && v.isNull(i) {
			n = 0
		}
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(v.data)), i*v.stride*w), uint32(n)
	case v.offsets != nil:
		lo, hi := v.offsets[i], v.offsets[i+1]
		if d := v.children[0].data; d != nil {
			return unsafe.Add(unsafe.Pointer(unsafe.SliceData(d)), int(lo)*w), (hi - lo) * uint32(w)
		}
	}
	return unsafe.Pointer(&zeros), 0
}

// hasItemNulls reports whether items of a List vector of Fixed items may be null.
func (v *vector) hasItemNulls() bool {
	return v.offsets != nil && v.children[0].nulls > 0
}

// listRange is the items of list i of a vector that is not flat.
func (v *vector) listRange(i int) (lo, hi uint32) {
	if v.offsets != nil {
		return v.offsets[i], v.offsets[i+1]
	}
	if v.nulls > 0 && v.isNull(i) {
		return 0, 0
	}
	return uint32(i * v.stride), uint32((i + 1) * v.stride)
}

// gatherItemNulls sets the validity of the items of lists whose bytes are already copied.
func gatherItemNulls(a, items *column.Array, vecs []*vector, picks []Pick, alloc column.Alloc) error {
	b, err := alloc((items.Len + 7) / 8)
	if err != nil {
		return err
	}
	for i := range b {
		b[i] = 0xff
	}
	for i, p := range picks {
		v, row := vecs[p>>32], int(uint32(p))
		at := i * a.Field.ListSize
		if a.Field.ListSize == 0 {
			at = int(a.Offsets[i])
		}
		if !v.hasItemNulls() {
			continue
		}
		lo, hi := v.listRange(row)
		for k := lo; k < hi; k++ {
			if v.children[0].isNull(int(k)) {
				clearBit(b, at)
				items.Nulls++
			}
			at++
		}
	}
	items.Valid = b
	if items.Nulls == 0 {
		items.Valid = nil
	}
	return nil
}

// items gathers lists and maps of anything but Fixed: the items become picks of their own.
func (g *Gatherer) items(a *column.Array, vecs []*vector, picks []Pick, alloc column.Alloc) error {
	f := a.Field.Children[0]
	g.reserve(len(picks))
	total := uint64(0)
	for i, p := range picks {
		lo, hi := vecs[p>>32].listRange(int(uint32(p)))
		g.lens[i] = hi - lo
		total += uint64(hi - lo)
	}
	size := a.Field.ListSize
	if size > 0 {
		total = uint64(len(picks)) * uint64(size)
	} else if err := g.offsets(a, total, 1, alloc); err != nil {
		return err
	}
	kids := g.vecs.push(len(vecs) + 1)
	defer g.vecs.pop()
	for i, v := range vecs {
		kids[i] = v.children[0]
	}
	inner := g.picks.push(int(total))
	defer g.picks.pop()
	none := MakePick(len(vecs), 0) // what fills a null list of fixed size
	kids[len(vecs)] = newNullVector(f, 1)
	if size == 0 || a.Nulls == 0 {
		kids = kids[:len(vecs)]
	}
	k := 0
	for _, p := range picks {
		lo, hi := vecs[p>>32].listRange(int(uint32(p)))
		for j := lo; j < hi; j++ {
			inner[k] = p&^0xffffffff | Pick(j)
			k++
		}
		for j := int(hi - lo); j < size; j++ {
			inner[k] = none
			k++
		}
	}
	child, err := g.node(f, kids, inner, alloc)
	a.Children = []*column.Array{child}
	return err
}
