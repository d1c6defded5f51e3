package loader

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A Fill sets the values in null slots of one column, or of one node within it, for readers that
// ignore validity. The column keeps its validity. Rows without nulls are not touched.
type Fill struct {
	// Column is a column, or a dotted path to a struct's member or a map's values, by the schema's
	// names; or a pattern of columns, as in [Features], or of members of structs, as in "meta.f_*".
	// Of lists it means the items.
	Column string

	// Value is a Go number or bool that the type holds exactly, or the value's bytes as a []byte;
	// for texts and binary a string or []byte. For dates, times, timestamps, decimals and UUIDs
	// their text too, as in "2024-01-31", "2024-01-31T16:30:00" and "1.25".
	Value any
}

// A filler holds the values for null slots of a node and its children; nil means zero for all.
type filler struct {
	value    []byte // nil: zero
	children []*filler
}

// bindFills makes the fillers of a schema's columns, and lists all that is wrong.
func bindFills(o Options, s *column.Schema) ([]*filler, error) {
	values := make(map[*column.Field][]byte)
	p := option.List{New: newProblem}
	for _, fill := range o.Fill {
		if err := bindFill(fill, s, values); err != nil {
			p.Add(fmt.Sprintf("Fill[%q]", fill.Column), "does not apply: %v", err)
		}
	}
	fillers := make([]*filler, len(s.Fields))
	for i, f := range s.Fields {
		fillers[i] = newFiller(f, values, o.NaN)
	}
	return fillers, p.Err()
}

func bindFill(fill Fill, s *column.Schema, values map[*column.Field][]byte) error {
	f, err := column.Find(s.Fields, fill.Column, func(f *column.Field) (*column.Field, []*column.Field) { return f, f.Children })
	for f != nil && f.Kind == column.List {
		f = f.Children[0]
	}
	switch {
	case err != nil:
		return errors.New("the schema has more than one column of that name")
	case f == nil:
		return notRead(fill.Column, s.Fields)
	case values[f] != nil:
		return errors.New("it is filled twice")
	}
	switch f.Kind {
	case column.Fixed:
		values[f], err = encode(f, fill.Value)
		return err
	case column.Binary:
		switch v := fill.Value.(type) {
		case string:
			values[f] = append([]byte{}, v...)
		case []byte:
			values[f] = append([]byte{}, v...)
		default:
			return fmt.Errorf("it is %v, which does not hold %s", f, literal(v))
		}
		return nil
	case column.Null:
		return errors.New("it has no type, and so no values")
	}
	return fmt.Errorf("it is %v; name the values within it", f)
}

const quietNaN = 0x7ff8 << 48 // as a float64; 0x7fc00000 and 0x7e00 as the smaller ones

// newFiller returns the filler of a field, or nil if all its null slots are zero.
func newFiller(f *column.Field, values map[*column.Field][]byte, nan bool) *filler {
	fill := &filler{value: values[f]}
	switch f.Type {
	case column.TypeFloat16, column.TypeBFloat16, column.TypeFloat32, column.TypeFloat64:
		if fill.value == nil && nan {
			fill.value, _ = encode(f, math.Float64frombits(quietNaN)) // every float holds it
		}
	}
	any := fill.value != nil
	for _, c := range f.Children {
		below := newFiller(c, values, nan)
		fill.children = append(fill.children, below)
		any = any || below != nil
	}
	if !any {
		return nil
	}
	return fill
}

// apply writes the values into the null slots of an array. Byte strings move to memory of alloc.
func (f *filler) apply(a *column.Array, alloc column.Alloc) error {
	if f == nil {
		return nil
	}
	if a.Nulls > 0 && f.value != nil {
		if a.Field.Kind == column.Binary {
			if err := f.strings(a, alloc); err != nil {
				return err
			}
		} else {
			f.fixed(a)
		}
	}
	for i, c := range a.Children {
		if err := f.children[i].apply(c, alloc); err != nil {
			return err
		}
	}
	if a.Field.Kind == column.List && a.Field.ListSize > 0 {
		f.children[0].items(a)
	}
	return nil
}

// items writes the value to the items of null lists of a declared size. Lists in such a list are
// null themselves.
func (f *filler) items(a *column.Array) {
	items := a.Children[0]
	if f == nil || f.value == nil || a.Nulls == 0 || items.Field.Kind != column.Fixed {
		return
	}
	n := a.Field.ListSize * len(f.value)
	for i := range a.Len {
		if a.IsNull(i) {
			repeat(items.Data[i*n:(i+1)*n], f.value)
		}
	}
}

// repeat fills dst with a value.
func repeat(dst, value []byte) {
	for n := copy(dst, value); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// fixed visits the nulls, and skips eight values at a time without nulls.
func (f *filler) fixed(a *column.Array) {
	w := len(f.value)
	for i, valid := range a.Valid {
		for null := ^valid; null != 0; null &= null - 1 {
			at := i*8 + bits.TrailingZeros8(null)
			if at >= a.Len {
				break
			}
			copy(a.Data[at*w:(at+1)*w], f.value)
		}
	}
}

// strings gives an array bytes and offsets of its own.
func (f *filler) strings(a *column.Array, alloc column.Alloc) error {
	if len(f.value) == 0 {
		return nil // a null is empty already
	}
	size := len(a.Data) + a.Nulls*len(f.value)
	if size > 1<<31-1 {
		return fmt.Errorf("%d bytes of text do not fit one batch", size)
	}
	data, err := alloc(size)
	if err != nil {
		return err
	}
	n, from := 0, a.Offsets[0]
	for i := range a.Len {
		to := a.Offsets[i+1]
		if a.IsNull(i) {
			n += copy(data[n:], f.value)
		} else {
			n += copy(data[n:], a.Data[from:to])
		}
		from = to
		a.Offsets[i+1] = int32(n)
	}
	a.Data = data[:n]
	return nil
}
