package arrowipc

import (
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// Members of the union MessageHeader of Message.fbs.
const (
	headerSchema      = 1
	headerRecordBatch = 3

	metadataV5 = 4
)

const continuation = 0xffffffff

// A Writer writes batches of one schema. It is not safe for concurrent use.
type Writer struct {
	schema  []byte // the first message of a stream
	nodes   pairs
	places  pairs
	buffers [][]byte
	body    int64
}

// NewWriter returns a writer of batches of the schema.
func NewWriter(schema *column.Schema) (*Writer, error) {
	t, err := schemaTable(schema.Fields)
	if err != nil {
		return nil, err
	}
	return &Writer{schema: appendMessage(nil, headerSchema, t, 0)}, nil
}

// Begin appends the bytes before the first batch.
func (w *Writer) Begin(dst []byte) []byte { return append(dst, w.schema...) }

// End appends what comes after the last batch.
func (w *Writer) End(dst []byte) []byte {
	return le.AppendUint32(le.AppendUint32(dst, continuation), 0)
}

// AppendBatch appends n rows of the schema's columns.
func (w *Writer) AppendBatch(dst []byte, columns []*column.Array, n int) []byte {
	w.nodes, w.places, w.buffers, w.body = w.nodes[:0], w.places[:0], w.buffers[:0], 0
	for _, a := range columns {
		w.add(a)
	}
	dst = appendMessage(dst, headerRecordBatch, table{int64Of(n), to(w.nodes), to(w.places)}, w.body)
	for _, b := range w.buffers {
		dst = append(dst, b...)
		dst = append(dst, make([]byte, padding(len(b)))...)
	}
	clear(w.buffers)
	return dst
}

// appendMessage appends a message without its body.
func appendMessage(dst []byte, kind int, header table, body int64) []byte {
	metadata := finish(table{int16Of(metadataV5), byteOf(kind), to(header), int64Of(int(body))})
	dst = le.AppendUint32(dst, continuation)
	dst = le.AppendUint32(dst, uint32(len(metadata)))
	return append(dst, metadata...)
}

// add takes the buffers of a column, or of a part of one, and of its children.
func (w *Writer) add(a *column.Array) {
	if a.Field.Kind == column.Null {
		w.nodes = append(w.nodes, [2]int64{int64(a.Len), int64(a.Len)})
		return
	}
	nulls, valid := 0, []byte(nil)
	if a.Field.Nullable && a.Valid != nil { // only the outer part has the nulls of other parts
		nulls, valid = a.Nulls, a.Valid[:(a.Len+7)/8]
	}
	w.nodes = append(w.nodes, [2]int64{int64(a.Len), int64(nulls)})
	w.buffer(valid)
	switch {
	case a.Field.Kind == column.Fixed:
		data := Converted(a)
		if data == nil {
			data = a.Data[:a.Len*a.Field.Width]
		}
		w.buffer(data)
	case a.Field.Kind == column.Binary:
		w.buffer(Offsets(a))
		w.buffer(a.Data[:le.Uint32(Offsets(a)[4*a.Len:])])
	case a.Field.Kind == column.Map || a.Field.Kind == column.List && a.Field.ListSize == 0:
		w.buffer(Offsets(a))
	}
	for _, child := range a.Children {
		w.add(child)
	}
}

func (w *Writer) buffer(b []byte) {
	w.places = append(w.places, [2]int64{w.body, int64(len(b))})
	w.buffers = append(w.buffers, b)
	w.body += int64(len(b) + padding(len(b)))
}

// padding is how many bytes come after n until the next multiple of 8.
func padding(n int) int { return -n & 7 }

var noOffsets = make([]byte, 4) // of a column without rows

// Offsets are the bytes of a column's offsets.
func Offsets(a *column.Array) []byte {
	if len(a.Offsets) == 0 {
		return noOffsets
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a.Offsets))), 4*(a.Len+1))
}
