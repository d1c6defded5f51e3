package block

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
func (g *Gatherer) binary(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	total := g.find(a, vecs, picks)
	if err := g.offsets(a, total, 1, alloc); err != nil {
		return err
	}
	var err error
	if a.Data, err = alloc(int(total)); err != nil {
		return err
	}
	CopyValues(a.Data, g.ptrs, g.lens)
	return nil
}

// fixedItems gathers lists whose items are Fixed: the bytes of a row's items are copied as one
// value.
func (g *Gatherer) fixedItems(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	f := a.Field.Children[0]
	total, itemNulls := g.find(a, vecs, picks), slices.ContainsFunc(vecs, (*Vector).HasItemNulls)
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
		CopyValues(items.Data, g.ptrs, g.lens)
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

// gatherItemNulls sets the validity of the items of lists whose bytes are already copied.
func gatherItemNulls(a, items *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
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
		if !v.HasItemNulls() {
			continue
		}
		lo, hi := v.ListRange(row)
		for k := lo; k < hi; k++ {
			if v.Children[0].IsNull(int(k)) {
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
func (g *Gatherer) items(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	f := a.Field.Children[0]
	g.reserve(len(picks))
	total := uint64(0)
	for i, p := range picks {
		lo, hi := vecs[p>>32].ListRange(int(uint32(p)))
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
		kids[i] = v.Children[0]
	}
	inner := g.picks.push(int(total))
	defer g.picks.pop()
	none := MakePick(len(vecs), 0) // what fills a null list of fixed size
	kids[len(vecs)] = NewNull(f, 1)
	if size == 0 || a.Nulls == 0 {
		kids = kids[:len(vecs)]
	}
	k := 0
	for _, p := range picks {
		lo, hi := vecs[p>>32].ListRange(int(uint32(p)))
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
