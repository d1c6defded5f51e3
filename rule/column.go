package rule

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardfeed/shardfeed/column"
)

// An Input is a column that a filter reads.
type Input struct {
	Path    []string      // of names, from the top of the schema to the column
	Field   *column.Field // the column itself
	Lengths bool          // a list or map: the filter reads lengths and nulls, no items
}

// A Column holds the values of an [Input] for the rows of a block. The evaluator reads its memory
// but does not retain it.
type Column struct {
	// Values has a value for each row; with Codes, the entries of the dictionary; with Constant,
	// one value. Its field has the kind, type and width of the Input's field. A list needs no
	// children, and one whose Nulls is its Len needs no storage.
	Values *column.Array

	// Codes is the entry of each row, CodeWidth (1, 2 or 4) bytes each, as a native integer. A
	// null may have any code when the dictionary has entries.
	Codes     []byte
	CodeWidth int

	// Constant is a column whose one value every row has, such as a partition's.
	Constant bool

	// Present holds bitmaps of rows, as in Array.Valid, in addition to the bitmap of Values if that
	// has a value for each row: of Codes, and of the structs around the column. A row is null if
	// any bitmap clears its bit. A nil bitmap has no nulls.
	Present [][]byte
}

// NewColumn returns the column at a path below an array of a block; the path starts with the
// array's own name. It finds members by name.
func NewColumn(top *column.Array, path ...string) (Column, error) {
	c := Column{Values: top}
	for i, name := range path {
		if i == 0 {
			continue
		}
		var member *column.Array
		for _, m := range c.Values.Children {
			if m.Field.Name == name {
				member = m
			}
		}
		if member == nil || c.Values.Field.Kind != column.Struct {
			return Column{}, fmt.Errorf("column %q has no member %q", pathText(path[:i]), name)
		}
		if c.Values.Valid != nil {
			c.Present = append(c.Present, c.Values.Valid)
		}
		c.Values = member
	}
	return c, nil
}

// allNull reports whether the values are all null, and perhaps have no storage.
func (c *Column) allNull() bool {
	return c.Codes == nil && (c.Values.Field.Kind == column.Null || c.Values.Nulls >= c.Values.Len)
}

// check finds out whether the column has what a filter over rows reads.
func (c *Column) check(in *Input, rows int) error {
	if c.Values == nil {
		return fmt.Errorf("column %q has no values", pathText(in.Path))
	}
	got, want := c.Values.Field, in.Field
	if !c.allNull() && (got.Kind != want.Kind || got.Type != want.Type || got.Width != want.Width || got.Unit != want.Unit || got.Scale != want.Scale) {
		return fmt.Errorf("column %q is %v, and the filter was bound to %v", pathText(in.Path), got, want)
	}
	n := rows
	switch {
	case c.Constant:
		n = 1
	case c.Codes != nil:
		n = c.Values.Len
		if c.CodeWidth != 1 && c.CodeWidth != 2 && c.CodeWidth != 4 || len(c.Codes) < rows*c.CodeWidth {
			return fmt.Errorf("column %q has %d bytes of codes of %d bytes for %d rows", pathText(in.Path), len(c.Codes), c.CodeWidth, rows)
		}
	}
	if c.Values.Len != n || !c.allNull() && !stored(c.Values) {
		return fmt.Errorf("column %q has %d values in %d bytes, want %d values", pathText(in.Path), c.Values.Len, len(c.Values.Data), n)
	}
	short := c.Codes == nil && c.Values.Valid != nil && len(c.Values.Valid) < (n+7)/8
	for _, b := range c.Present {
		short = short || b != nil && len(b) < (rows+7)/8
	}
	if short {
		return fmt.Errorf("column %q has a bitmap of fewer than %d rows", pathText(in.Path), rows)
	}
	return nil
}

// stored reports whether an array has memory for its values.
func stored(a *column.Array) bool {
	switch a.Field.Kind {
	case column.Fixed:
		return len(a.Data) >= a.Len*a.Field.Width
	case column.Binary:
		return len(a.Offsets) > a.Len && len(a.Data) >= int(a.Offsets[a.Len])
	case column.List, column.Map:
		return a.Offsets == nil && a.Field.ListSize > 0 || len(a.Offsets) > a.Len
	}
	return true
}

// present sets the bits of rows that have a value, and clears the bits after them.
func (c *Column) present(dst []uint64, rows int) {
	fill(dst, rows, true)
	for _, b := range c.Present {
		intersect(dst, b)
	}
	switch {
	case c.Codes != nil:
	case c.allNull():
		clear(dst)
	case !c.Constant:
		intersect(dst, c.Values.Valid)
	}
}

// intersect clears the bits that are not in b; nil has all.
func intersect(dst []uint64, b []byte) {
	if b == nil {
		return
	}
	for w := range dst {
		dst[w] &= word(b, w)
	}
}

// word is word w of a bitmap of bytes.
func word(b []byte, w int) uint64 {
	if b = b[w*8:]; len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	u := uint64(0)
	for i, c := range b {
		u |= uint64(c) << (8 * i)
	}
	return u
}

// isFull reports whether a bitmap of n bits has all of them.
func isFull(b []uint64, n int) bool {
	for _, w := range b[:n/64] {
		if w != math.MaxUint64 {
			return false
		}
	}
	return n%64 == 0 || b[n/64] == 1<<(n%64)-1
}

// isZero reports whether a bitmap has no bit.
func isZero(b []uint64) bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}
