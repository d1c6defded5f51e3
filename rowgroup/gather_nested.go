package rowgroup

import "github.com/shardfeed/shardfeed/column"

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
				b[at>>3] &^= 1 << (at & 7)
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
