package gpu

import "github.com/shardfeed/shardfeed/column"

// A Span is bytes of a device's memory. Of the host they may be read; of a GPU they mean something
// to its driver alone.
type Span struct {
	Pointer uintptr // 0 when there are none
	Bytes   int
}

// A Column is a column.Array whose memory is a device's: see there for what the parts mean by kind.
type Column struct {
	Field    *column.Field
	Len      int
	Nulls    int
	Valid    Span // a bit per value; none when no value is null
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

// members are what a path may lead to below a column: those of structs.
func members(c *Column) (*column.Field, []*Column) {
	if c.Field.Kind != column.Struct {
		return c.Field, nil
	}
	return c.Field, c.Children
}
