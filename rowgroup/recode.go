package rowgroup

import "unsafe"

// A Mapping writes the image of a value that is not null. dst has the width of the new field and is zero; value is the bytes of the old one.
type Mapping func(dst, value []byte) error

// Recode maps the values of a Fixed or Binary column to those of another Fixed field. The mapping is called once for each entry of a
// dictionary, else once for each value; nulls stay null. An entry that cannot be mapped is an error when a value is coded by it. Only the one
// who has just decoded the block may call it.
func (b *Block) Recode(col int, to *Field, m Mapping) error {
	old := b.cols[col]
	v := &vector{field: to, n: old.n, nulls: old.nulls, valid: old.valid, skip: old.skip, order: old.order}
	arena := b.parts[0].arena
	var err error
	switch {
	case old.codes != nil:
		v.codes, v.codeWidth = old.codes, old.codeWidth
		v.dict = &vector{field: to, n: old.dict.n, data: arena.Alloc(old.dict.n * to.Width)}
		err = recodeEntries(v, old, m)
	case old.data != nil || old.views != nil:
		v.data = arena.Alloc(old.n * to.Width)
		clear(v.data)
		for i := 0; i < old.n && err == nil; i++ {
			if old.nulls == 0 || !old.isNull(i) {
				err = m(v.data[i*to.Width:(i+1)*to.Width], old.bytesOf(i))
			}
		}
	}
	if err == nil {
		b.cols[col] = v
	}
	return err
}

// recodeEntries maps the dictionary of old.
func recodeEntries(v, old *vector, m Mapping) error {
	clear(v.dict.data)
	wrong := map[int]error{}
	for i := range old.dict.n {
		if err := m(v.dict.data[i*v.field.Width:(i+1)*v.field.Width], old.dict.bytesOf(i)); err != nil {
			wrong[i] = err
		}
	}
	for i := 0; i < old.n && len(wrong) > 0; i++ {
		if err := wrong[old.code(i)]; err != nil && (old.nulls == 0 || !old.isNull(i)) {
			return err
		}
	}
	return nil
}

// bytesOf value i of a vector without codes.
func (v *vector) bytesOf(i int) []byte {
	if v.field.Kind == Fixed {
		return v.data[i*v.field.Width : (i+1)*v.field.Width]
	}
	p, n := v.value(i)
	return unsafe.Slice((*byte)(p), n)
}
