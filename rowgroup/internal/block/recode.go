package block

import (
	"github.com/shardfeed/shardfeed/column"
)

// RecodeParts maps the values of a Fixed or Binary column to another Fixed field, in the blocks of
// one unit. m writes the new value to dst, which has the width of the new field and is zero. It is
// called once for each entry of a dictionary, or else once for each value; nulls stay null. An
// entry that cannot be mapped is an error when a value is coded by it. Only the goroutine that
// decoded the blocks may call RecodeParts, before it hands them on.
func RecodeParts(blocks []*Block, col int, to *column.Field, m func(dst, value []byte) error) error {
	var dict recodedDict
	for _, b := range blocks {
		if err := b.recode(col, to, m, &dict); err != nil {
			return err
		}
	}
	return nil
}

// A recodedDict is a dictionary before and after its entries were mapped.
type recodedDict struct {
	from, to *Vector
	wrong    map[int]error // values that cannot be mapped
}

func (b *Block) recode(col int, to *column.Field, m func(dst, value []byte) error, dict *recodedDict) error {
	old := b.cols[col]
	v := &Vector{Field: to, Len: old.Len, Nulls: old.Nulls, Valid: old.Valid, Skip: old.Skip, Order: old.Order, Marks: old.Marks, Mark: old.Mark, Step: old.Step}
	switch {
	case old.Dict != nil:
		if dict.from != old.Dict {
			*dict = newRecodedDict(old.Dict, to, m, b.keeps().Alloc(old.Dict.Len*to.Width))
		}
		if err := dict.check(old); err != nil {
			return err
		}
		v.Codes, v.Slots, v.CodeWidth, v.Dict = old.Codes, old.Slots, old.CodeWidth, dict.to
	case old.Data != nil || old.Views != nil || old.Slots != nil:
		end := 0 // of the places that rows of the block have
		for i := range b.rows {
			end = max(end, old.Place(i)+1)
		}
		v.Data = b.arena.Alloc(end * to.Width)
		clear(v.Data)
		for i := range b.rows {
			k := old.Place(i)
			if old.Nulls > 0 && old.IsNull(k) {
				continue
			}
			if err := m(v.Data[k*to.Width:(k+1)*to.Width], old.bytesOf(k)); err != nil {
				return err
			}
		}
	}
	b.cols[col] = v
	return nil
}

func newRecodedDict(from *Vector, field *column.Field, m func(dst, value []byte) error, data []byte) recodedDict {
	d := recodedDict{from: from, to: &Vector{Field: field, Len: from.Len, Data: data}, wrong: map[int]error{}}
	clear(data)
	for i := range from.Len {
		if err := m(data[i*field.Width:(i+1)*field.Width], from.bytesOf(i)); err != nil {
			d.wrong[i] = err
		}
	}
	return d
}

// check looks for values that are coded by an entry that cannot be mapped.
func (d *recodedDict) check(v *Vector) error {
	for i := 0; i < v.Len && len(d.wrong) > 0; i++ {
		if err := d.wrong[v.Code(i)]; err != nil && (v.Nulls == 0 || !v.IsNull(i)) {
			return err
		}
	}
	return nil
}
