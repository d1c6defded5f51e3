package block

import (
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// Tensors returns the field with lists of lists in place of tensors that are stored as flat lists,
// for the field and its children. [Gatherer.Gather] makes them.
func Tensors(f *column.Field) *column.Field {
	return rewritten(f, func(f *column.Field) *column.Field {
		if f.Tensor == nil || f.Children[0].Kind != column.Fixed {
			return f
		}
		return nested(f)
	})
}

// nested is a list of all items of tensors as lists of lists.
func nested(flat *column.Field) *column.Field {
	t := *flat.Tensor
	t.Flat = flat
	within := flat.Children[0]
	for _, size := range slices.Backward(t.Shape[1:]) {
		within = &column.Field{Name: within.Name, Kind: column.List, Nullable: flat.Nullable, ListSize: size, Children: []*column.Field{within}}
	}
	outer := *flat
	outer.ListSize, outer.Tensor, outer.Children = t.Shape[0], &t, []*column.Field{within}
	return &outer
}

// tensors gathers tensors as lists of all items, and makes lists of lists of them.
func (g *Gatherer) tensors(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	f := a.Field
	a.Field = f.Tensor.Flat
	if err := g.list(a, vecs, picks, alloc); err != nil {
		return err
	}
	items := a.Children[0]
	if f.Tensor.Order != nil {
		g.reorder(items, f.Tensor.Places())
	}
	a.Field = f
	for at := a; ; at = at.Children[0] {
		within := at.Field.Children[0]
		if within.Kind != column.List {
			at.Children = []*column.Array{items}
			return nil
		}
		lists := &column.Array{Field: within, Len: at.Len * at.Field.ListSize}
		at.Children = []*column.Array{lists}
		if err := nullWithin(lists, at, alloc); err != nil {
			return err
		}
	}
}

// nullWithin makes the lists within null lists null.
func nullWithin(lists, outer *column.Array, alloc column.Alloc) (err error) {
	if outer.Nulls == 0 {
		return nil
	}
	if lists.Valid, err = alloc((lists.Len + 7) / 8); err != nil {
		return err
	}
	for i := range lists.Valid {
		lists.Valid[i] = 0xff
	}
	lists.Nulls = outer.Nulls * outer.Field.ListSize
	for i := range nulls(outer.Valid, outer.Len) {
		for k := range outer.Field.ListSize {
			clearBit(lists.Valid, i*outer.Field.ListSize+k)
		}
	}
	return nil
}

// reorder puts the items of each tensor, and their validity, into the order of places.
func (g *Gatherer) reorder(items *column.Array, places []int) {
	w, n := items.Field.Width, len(places)
	g.raw = slices.Grow(g.raw[:0], n*w)[:n*w]
	for row := items.Data; len(row) > 0; row = row[n*w:] {
		copy(g.raw, row)
		for to, from := range places {
			copy(row[to*w:(to+1)*w], g.raw[from*w:])
		}
	}
	if items.Valid == nil {
		return
	}
	stored := slices.Clone(items.Valid)
	for at := 0; at < items.Len; at += n {
		for to, from := range places {
			setBit(items.Valid, at+to, stored[(at+from)>>3]>>((at+from)&7)&1)
		}
	}
}

// setBit makes bit i of bits v.
func setBit(bits []byte, i int, v byte) {
	bits[i>>3] = bits[i>>3]&^(1<<(i&7)) | v<<(i&7)
}
