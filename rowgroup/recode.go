package rowgroup

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// RecodeParts maps the values of a Fixed or Binary column to those of another Fixed field, in the
// blocks of one unit. The mapping writes what becomes of a value: dst has the width of the new
// field and is zero. It is called once for each entry of a dictionary, else once for each value;
// nulls stay null. An entry that cannot be mapped is an error when a value is coded by it.
// Only the goroutine that decoded the blocks may call it, before it hands them on.
func RecodeParts(blocks []*Block, col int, to *column.Field, m func(dst, value []byte) error) error {
	var dict recodedDict
	for _, b := range blocks {
		if err := b.recode(col, to, m, &dict); err != nil {
			return err
		}
	}
	return nil
}

// A recodedDict is what the entries of a dictionary became.
type recodedDict struct {
	from, to *vector
	wrong    map[int]error // values that cannot be mapped
}

func (b *Block) recode(col int, to *column.Field, m func(dst, value []byte) error, dict *recodedDict) error {
	old := b.cols[col]
	v := &vector{field: to, n: old.n, nulls: old.nulls, valid: old.valid, skip: old.skip, order: old.order, marks: old.marks, mark: old.mark, step: old.step}
	switch {
	case old.dict != nil:
		if dict.from != old.dict {
			*dict = newRecodedDict(old.dict, to, m, b.keeps().Alloc(old.dict.n*to.Width))
		}
		if err := dict.check(old); err != nil {
			return err
		}
		v.codes, v.slots, v.codeWidth, v.dict = old.codes, old.slots, old.codeWidth, dict.to
	case old.data != nil || old.views != nil || old.slots != nil:
		end := 0 // of the places that rows of the block have
		for i := range b.rows {
			end = max(end, old.place(i)+1)
		}
		v.data = b.arena.Alloc(end * to.Width)
		clear(v.data)
		for i := range b.rows {
			k := old.place(i)
			if old.nulls > 0 && old.isNull(k) {
				continue
			}
			if err := m(v.data[k*to.Width:(k+1)*to.Width], old.bytesOf(k)); err != nil {
				return err
			}
		}
	}
	b.cols[col] = v
	return nil
}

func newRecodedDict(from *vector, field *column.Field, m func(dst, value []byte) error, data []byte) recodedDict {
	d := recodedDict{from: from, to: &vector{field: field, n: from.n, data: data}, wrong: map[int]error{}}
	clear(data)
	for i := range from.n {
		if err := m(data[i*field.Width:(i+1)*field.Width], from.bytesOf(i)); err != nil {
			d.wrong[i] = err
		}
	}
	return d
}

// place is where the vector has row i of its block.
func (v *vector) place(i int) int {
	if v.order != nil {
		i = int(v.order[i])
	}
	return v.skip + i
}

// check looks for values that are coded by an entry that cannot be mapped.
func (d *recodedDict) check(v *vector) error {
	for i := 0; i < v.n && len(d.wrong) > 0; i++ {
		if err := d.wrong[v.code(i)]; err != nil && (v.nulls == 0 || !v.isNull(i)) {
			return err
		}
	}
	return nil
}

func (v *vector) bytesOf(i int) []byte {
	if v.field.Kind == column.Fixed && v.slots != nil {
		return v.slots[i*v.step:][:v.field.Width]
	}
	if v.field.Kind == column.Fixed {
		return v.data[i*v.field.Width : (i+1)*v.field.Width]
	}
	p, n := v.value(i)
	return unsafe.Slice((*byte)(p), n)
}
