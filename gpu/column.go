package gpu

import "github.com/shardfeed/shardfeed/column"

// A Span is a range of a device's memory. It is readable on the host; for a GPU only its driver
// understands it.
type Span struct {
	Pointer uintptr // 0 if empty
	Bytes   int
}

// A Column is a column.Array whose memory is a device's: see there for what the parts mean by kind.
type Column struct {
	Field    *column.Field
	Len      int
	Nulls    int
	Valid    Span // a bit per value; empty if no value is null
	Offsets  Span // int32, Len+1
	Data     Span
	Children []*Column

	batch *Batch
}

// released reports whether the column's memory was given back.
func (c *Column) released() bool { return c.batch != nil && c.batch.released.Load() }

// empty takes the memory away from a column, so that a later use is an error and not another
// batch's values.
func (c *Column) empty() {
	c.Valid, c.Offsets, c.Data = Span{}, Span{}, Span{}
	for _, child := range c.Children {
		child.empty()
	}
}

// members returns the columns that a path may continue to below a column: members of structs.
func members(c *Column) (*column.Field, []*Column) {
	if c.Field.Kind != column.Struct {
		return c.Field, nil
	}
	return c.Field, c.Children
}
