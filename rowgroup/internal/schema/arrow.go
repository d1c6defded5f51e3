package schema

import (
	"encoding/base64"
	"encoding/binary"
	"maps"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Writers of the Arrow family keep the Arrow schema of a table in the footer, under the key
// ARROW:schema: the base64 of an encapsulated IPC message, a flatbuffer. It is used for what
// parquet's own schema lacks: the declared lengths of fixed-size lists, the shapes of tensors, and
// features of Hugging Face's library. See Schema.fbs and Message.fbs of the Arrow format for the
// numbers of fields.

const (
	arrowHeaderSchema = 1

	arrowList          = 12
	arrowStruct        = 13
	arrowFixedSizeList = 16
	arrowMap           = 17
	arrowLargeList     = 21
	arrowListView      = 25
	arrowLargeListView = 26

	messageHeaderType = 1
	messageHeader     = 2
	schemaFields      = 1
	schemaMetadata    = 2
	fieldName         = 0
	fieldTypeType     = 2
	fieldType         = 3
	fieldChildren     = 5
	fieldMetadata     = 6
	listSizeField     = 0
	metadataKey       = 0
	metadataValue     = 1
)

// ArrowDeclared returns what an ARROW:schema declares of columns, as formatDeclared does, by the
// names of Fields from the top joined with dots. What cannot be read declares nothing.
func ArrowDeclared(text []byte) (declared []byte) {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b) == 0 {
		return nil
	}
	defer func() {
		if recover() != nil {
			declared = nil
		}
	}()
	w := arrowWalk{r: flatReader{b: unframe(b), left: len(b)}, sizes: map[string]listSize{}, within: map[string][]int{}, text: 64 * len(b)}
	w.message()
	maps.DeleteFunc(w.sizes, func(_ string, s listSize) bool { return s.size <= 0 })
	return formatDeclared(w.sizes, w.features)
}

// unframe takes off the length before an IPC message, with or without the continuation mark before
// that.
func unframe(b []byte) []byte {
	if len(b) >= 8 && binary.LittleEndian.Uint32(b) == 0xffffffff {
		return b[8:]
	}
	if len(b) >= 4 {
		return b[4:]
	}
	return nil
}

type arrowWalk struct {
	r        flatReader
	sizes    map[string]listSize // every list; 0 when it is ragged, or when several of one path differ
	text     int                 // bytes of paths that may still be made
	features map[string]feature
	within   map[string][]int // shapes of lists within such arrays; 0 is any length
}

func (w *arrowWalk) message() {
	m := w.r.table(0)
	if w.r.byteField(m, messageHeaderType) == arrowHeaderSchema {
		s := w.r.tableField(m, messageHeader)
		w.features = parseFeatures(w.metadata(s, schemaMetadata, "huggingface"))
		w.fields(s, schemaFields, "", nil, 0)
	}
}

// metadata is the value of a key of a table's metadata.
func (w *arrowWalk) metadata(t flatTable, i int, key string) string {
	pos, n := w.r.vector(t, i)
	for k := range n {
		pair := w.r.table(pos + 4*k)
		if w.r.stringField(pair, metadataKey) == key {
			return w.r.stringField(pair, metadataValue)
		}
	}
	return ""
}

// fields visits a vector of fields, under these names when there are some, else under their own.
func (w *arrowWalk) fields(t flatTable, i int, parent string, names []string, depth int) {
	pos, n := w.r.vector(t, i)
	for k := range n {
		f := w.r.table(pos + 4*k)
		name := ""
		if names == nil {
			name = w.r.stringField(f, fieldName)
		} else if k < len(names) {
			name = names[k]
		}
		w.field(f, joinPath(parent, name), depth)
	}
}

func (w *arrowWalk) field(f flatTable, path string, depth int) {
	w.text -= len(path)
	if depth > parquet.MaxSchemaDepth || w.text < 0 {
		panic("fields without end")
	}
	switch w.r.byteField(f, fieldTypeType) {
	case arrowFixedSizeList:
		size := w.r.uint32Field(w.r.tableField(f, fieldType), listSizeField)
		w.list(path, listSize{size, fixedShapeTensor(w.extension(f), size)})
		w.fields(f, fieldChildren, path, []string{"element"}, depth+1)
	case arrowList, arrowLargeList, arrowListView, arrowLargeListView:
		w.list(path, w.array(f, path))
		w.fields(f, fieldChildren, path, []string{"element"}, depth+1)
	case arrowStruct:
		w.fields(f, fieldChildren, path, nil, depth+1)
	case arrowMap:
		w.mapField(f, path, depth)
	}
}

// mapField visits a map, whose one child is the struct of key and value, by whatever names.
func (w *arrowWalk) mapField(f flatTable, path string, depth int) {
	if pos, n := w.r.vector(f, fieldChildren); n == 1 {
		w.fields(w.r.table(pos), fieldChildren, joinPath(path, "key_value"), []string{"key", "value"}, depth+1)
	}
}

// extension returns a field's extension type, if it is one.
func (w *arrowWalk) extension(f flatTable) (e arrowExtension) {
	e.name = w.metadata(f, fieldMetadata, "ARROW:extension:name")
	if e.name != "" {
		e.metadata = w.metadata(f, fieldMetadata, "ARROW:extension:metadata")
	}
	return e
}

// array returns the size of the lists of a field that is one of Hugging Face's arrays, or a list
// within one. Other lists have none.
func (w *arrowWalk) array(f flatTable, path string) listSize {
	shape, tensor := w.within[path], (*column.Tensor)(nil)
	if shape == nil {
		shape = arrayShape(w.extension(f), w.features[path].shape)
		tensor = newTensor(shape)
	}
	if shape == nil {
		return listSize{}
	}
	if len(shape) > 1 {
		w.within[joinPath(path, "element")] = shape[1:]
	}
	return listSize{shape[0], tensor}
}

func (w *arrowWalk) list(path string, s listSize) {
	if s.size > maxListSize {
		s = listSize{}
	}
	if old, seen := w.sizes[path]; seen && (old.size != s.size || !old.tensor.Equal(s.tensor)) {
		s = listSize{}
	}
	w.sizes[path] = s
}
