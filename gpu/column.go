package gpu

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

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

// find looks for a column by its name, and then for a struct's member by a dotted path. It returns
// nil when there is none.
func find(columns []*Column, path string) (*Column, error) {
	var found *Column
	for _, c := range columns {
		if c.Field.Name != path {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("gpu: the batch has more than one column %q; take it by its place", path)
		}
		found = c
	}
	if found != nil {
		return found, nil
	}
	for _, c := range columns {
		name := c.Field.Name
		if c.Field.Kind != column.Struct || len(path) <= len(name) || path[:len(name)] != name || path[len(name)] != '.' {
			continue
		}
		if found, err := find(c.Children, path[len(name)+1:]); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}
