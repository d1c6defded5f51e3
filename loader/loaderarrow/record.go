package loaderarrow

import (
	"errors"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/arrowipc"
	"github.com/shardfeed/shardfeed/loader"
)

// RecordBatch returns the batch as an Arrow record that shares its memory and takes it over: the
// batch is released when the record is, and all arrays and slices that were retained of it. The
// caller calls the record's Release in place of the batch's. After an error the batch is still the
// caller's.
//
// Rows of padding, those from b.Valid on, are in the record too.
func RecordBatch(b *loader.Batch) (arrow.RecordBatch, error) {
	if _, err := b.Column(""); errors.Is(err, column.ErrReleased) {
		return nil, err
	}
	fields := make([]*column.Field, len(b.Columns))
	for i, a := range b.Columns {
		fields[i] = a.Field
	}
	schema, err := Schema(&column.Schema{Fields: fields})
	if err != nil {
		return nil, err
	}
	h := &holder{batch: b}
	h.buffers.Store(1) // of this function
	defer h.Free(nil)
	columns := make([]arrow.Array, len(b.Columns))
	for i, a := range b.Columns {
		data := h.array(schema.Field(i).Type, a)
		columns[i] = array.MakeFromData(data)
		data.Release()
	}
	record := array.NewRecordBatch(schema, columns, int64(b.Rows))
	for _, c := range columns {
		c.Release()
	}
	return record, nil
}

// A holder releases the batch when no buffer uses its memory any more. To Arrow it is the allocator
// of those buffers.
type holder struct {
	batch   *loader.Batch
	buffers atomic.Int64
}

// Free releases one buffer.
func (h *holder) Free([]byte) {
	if h.buffers.Add(-1) == 0 {
		h.batch.Release()
	}
}

// Allocate and Reallocate serve buffers that grow; buffers of a batch never do.
func (h *holder) Allocate(n int) []byte { return memory.DefaultAllocator.Allocate(n) }

func (h *holder) Reallocate(n int, b []byte) []byte {
	return append(memory.DefaultAllocator.Allocate(n)[:0], b...)[:n]
}

// shared is a buffer of the batch's memory.
func (h *holder) shared(data []byte) *memory.Buffer {
	h.buffers.Add(1)
	return memory.NewBufferWithAllocator(data, h)
}

// array is the data of a column, or of a part of one.
func (h *holder) array(t arrow.DataType, a *column.Array) arrow.ArrayData {
	if a.Field.Kind == column.Null {
		return array.NewData(t, a.Len, []*memory.Buffer{nil}, nil, a.Len, 0)
	}
	children := make([]arrow.ArrayData, len(a.Children))
	for i, child := range a.Children {
		children[i] = h.array(partOf(t, i), child)
	}
	buffers := []*memory.Buffer{nil}
	nulls := 0
	if a.Field.Nullable && a.Valid != nil { // the nulls of another part belong to the array around it
		buffers[0], nulls = h.shared(a.Valid), a.Nulls
	}
	buffers = append(buffers, h.values(a)...)
	data := array.NewData(t, a.Len, buffers, children, nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, child := range children {
		child.Release()
	}
	return data
}

// partOf is the type of child i.
func partOf(t arrow.DataType, i int) arrow.DataType {
	switch t := t.(type) {
	case *arrow.StructType:
		return t.Field(i).Type
	case *arrow.MapType:
		return t.Elem()
	case *arrow.FixedSizeListType:
		return t.Elem()
	}
	return t.(*arrow.ListType).Elem()
}

// values are the buffers behind the validity.
func (h *holder) values(a *column.Array) []*memory.Buffer {
	switch a.Field.Kind {
	case column.Binary:
		return []*memory.Buffer{h.shared(arrowipc.Offsets(a)), h.shared(a.Data)}
	case column.Fixed:
		if own := arrowipc.Converted(a); own != nil {
			return []*memory.Buffer{memory.NewBufferBytes(own)}
		}
		return []*memory.Buffer{h.shared(a.Data)}
	case column.Map:
		return []*memory.Buffer{h.shared(arrowipc.Offsets(a))}
	case column.List:
		if a.Field.ListSize == 0 {
			return []*memory.Buffer{h.shared(arrowipc.Offsets(a))}
		}
	}
	return nil
}
