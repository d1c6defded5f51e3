package loader

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// floatsOf are the types that numbers of boxes can have, with a function that converts their bytes.
// The values of wide types may be converted in place.
var floatsOf = map[column.Type]func(dst []float32, data []byte){
	column.TypeFloat32: func(dst []float32, data []byte) { copy(dst, mem.As[float32](data)) },
	column.TypeFloat64: floats[float64], column.TypeInt64: floats[int64], column.TypeInt32: floats[int32], column.TypeInt16: floats[int16], column.TypeInt8: floats[int8],
	column.TypeUint64: floats[uint64], column.TypeUint32: floats[uint32], column.TypeUint16: floats[uint16], column.TypeUint8: floats[uint8],
	column.TypeFloat16: func(dst []float32, data []byte) {
		for i, v := range mem.As[uint16](data) {
			dst[i] = half.Value(v)
		}
	},
}

func floats[T float64 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](dst []float32, data []byte) {
	for i, v := range mem.As[T](data) {
		dst[i] = float32(v)
	}
}

// moveBoxes moves the boxes of a batch with its images, and drops the ones that fall out.
func (c *collator) moveBoxes(b *Batch, d *iterable.Draw, at *activity) error {
	all := c.shape.boxes
	if len(all) == 0 {
		return nil
	}
	c.names.epochs = append(c.names.epochs[:0], d.After...)
	if err := c.names.set(b.Columns[c.naming.row], b.Columns[c.naming.source], b.Rows); err != nil {
		return err
	}
	c.stay = append(c.stay, make([][]bool, len(all)-len(c.stay))...)
	for i, m := range all {
		at.set(stageGather, m.column)
		stay, row, err := c.move(m, b, c.stay[i][:0])
		if err != nil {
			return c.ofRow(row, m.name, err)
		}
		c.stay[i] = stay
	}
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(other *boxColumn) bool { return other.column == m.column }) {
			continue
		}
		if err := c.fillers[m.column].apply(b.Columns[m.column], b.Alloc); err != nil {
			return err
		}
	}
	for i, m := range all {
		if err := c.dropBoxes(m, b, c.stay[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropBoxes drops the boxes that do not stay, with the items of other columns.
func (c *collator) dropBoxes(m *boxColumn, b *Batch, stay []bool) error {
	for _, p := range m.drops {
		row, err := sameLength(p.in(b.Columns[p.column]), m.drops[0].in(b.Columns[m.column]))
		if err != nil {
			return c.ofRow(row, p.name, fmt.Errorf("%w as %q, whose boxes it is dropped with", err, m.name))
		}
	}
	if slices.Contains(stay, false) {
		for _, p := range m.drops {
			drop(p.in(b.Columns[p.column]), stay)
		}
	}
	return nil
}

// ofRow adds the place of a row to an error.
func (c *collator) ofRow(row int, name string, err error) error {
	at, wrong := c.placeOf(c.names.rows[row])
	if wrong != nil {
		return err
	}
	return &rowgroup.Error{Op: "boxes", URI: at.URI, RowGroup: at.RowGroup, Column: name, Page: -1, Err: fmt.Errorf("row %d: %w", at.Row, err)}
}

// move moves the boxes of a column, whose array gets the column's field. It returns which of them
// stay, or the row of an error.
func (c *collator) move(m *boxColumn, b *Batch, stay []bool) (_ []bool, row int, err error) {
	whole := b.Columns[m.column]
	list := arrayAt(whole, m.inner)
	leaf := leafOf(list)
	n := leaf.Data
	if leaf.Field.Width < 4 {
		if n, err = b.Alloc(4 * leaf.Len); err != nil {
			return nil, 0, err
		}
	}
	numbers := mem.As[float32](n)[:leaf.Len:leaf.Len]
	floatsOf[leaf.Field.Type](numbers, leaf.Data)
	leaf.Data = n[:4*leaf.Len]
	for i := 0; leaf.Nulls > 0 && i < leaf.Len; i++ {
		if leaf.IsNull(i) {
			numbers[i] = float32(math.NaN())
		}
	}
	leaf.Valid, leaf.Nulls = nil, 0
	k := m.options.Format.Numbers()
	var v boxes.View
	v.Width, v.Height = m.image.options.Result()
	for row := range b.Rows {
		lo, hi, err := m.numbers(whole, row, k)
		if err != nil {
			return nil, row, err
		}
		if row < b.Valid && c.job.sizes[m.image.place][row] != (image.Point{}) { // the row has a picture
			v.Part = c.viewOf(m.image, row, 0)
			for at := lo; at < hi; at += k {
				stay = append(stay, m.options.Move(numbers[at:at+k], &v))
			}
		} else {
			stay = append(stay, make([]bool, (hi-lo)/k)...)
		}
	}
	if m.options.Regular() {
		m.regular(list, k)
	}
	setFields(whole, m.field)
	return stay, 0, nil
}

// numbers returns the range of the numbers of a row's boxes, of k numbers each.
func (m *boxColumn) numbers(a *column.Array, row, k int) (lo, hi int, err error) {
	lo, hi = row, row+1
	path := m.inner
	for ; ; a = a.Children[0] {
		for a.Field.Kind == column.Struct {
			a, path = a.Children[path[0]], path[1:]
		}
		if a.Field.Kind != column.List {
			return lo, hi, nil
		}
		if len(path) > 0 {
			path = path[1:]
		}
		last := a.Children[0].Field.Kind == column.Fixed
		for i := lo; last && i < hi; i++ {
			if from, to := a.Items(i); (to-from)%k != 0 || m.options.Regular() && !m.grouped && to-from != k {
				return 0, 0, fmt.Errorf("it has a list of %d numbers, and format %s has %d", to-from, cmp.Or(m.options.Format, boxes.XYXY), k)
			}
		}
		lo, hi = items(a, lo, hi)
	}
}

// items returns the range of the items of a range of lists.
func items(a *column.Array, lo, hi int) (from, to int) {
	if lo == hi {
		return 0, 0
	}
	from, _ = a.Items(lo)
	_, to = a.Items(hi - 1)
	return from, to
}

// regular makes lists of k numbers of a list with the numbers of one box, or of all of a row.
func (m *boxColumn) regular(list *column.Array, k int) {
	if !m.grouped {
		list.Offsets, list.Valid, list.Nulls = nil, nil, 0
		return
	}
	numbers := list.Children[0]
	list.Children[0] = &column.Array{Len: numbers.Len / k, Children: []*column.Array{numbers}}
	for i := range list.Offsets {
		list.Offsets[i] /= int32(k)
	}
}

// setFields gives an array and its children their fields.
func setFields(a *column.Array, f *column.Field) {
	a.Field = f
	for i, c := range a.Children {
		setFields(c, f.Children[i])
	}
}
