package rowgroup

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// Writers of the Arrow family keep the Arrow schema of a table in the footer, under the key
// ARROW:schema: the base64 of an encapsulated IPC message, a flatbuffer. Of it only the declared
// lengths of fixed-size lists are used, which parquet's own schema cannot say. See Schema.fbs and
// Message.fbs of the Arrow format for the numbers of fields.

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
	fieldName         = 0
	fieldTypeType     = 2
	fieldType         = 3
	fieldChildren     = 5
	listSizeField     = 0
)

// arrowListSizes returns the lengths that an ARROW:schema declares for fixed-size lists, as
// formatListSizes does, by the names of Fields from the top joined with dots. What cannot be read
// declares nothing.
func arrowListSizes(text []byte) (sizes []byte) {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b) == 0 {
		return nil
	}
	defer func() {
		if recover() != nil {
			sizes = nil
		}
	}()
	w := arrowWalk{r: flatReader{b: unframe(b), left: len(b)}, sizes: map[string]int{}, text: 64 * len(b)}
	w.message()
	maps.DeleteFunc(w.sizes, func(_ string, size int) bool { return size <= 0 })
	return formatListSizes(w.sizes)
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
	r     flatReader
	sizes map[string]int // every list; 0 when it is ragged, or when several of one path differ
	text  int            // bytes of paths that may still be made
}

func (w *arrowWalk) message() {
	m := w.r.table(0)
	if w.r.byteField(m, messageHeaderType) == arrowHeaderSchema {
		w.fields(w.r.tableField(m, messageHeader), schemaFields, "", nil, 0)
	}
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
		w.list(path, size)
		w.fields(f, fieldChildren, path, []string{"element"}, depth+1)
	case arrowList, arrowLargeList, arrowListView, arrowLargeListView:
		w.list(path, 0)
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

func (w *arrowWalk) list(path string, size int) {
	if size > maxListSize {
		size = 0
	}
	if old, seen := w.sizes[path]; seen && old != size {
		size = 0
	}
	w.sizes[path] = size
}

// maxListSize bounds the declared length of a list; longer ones are read as ragged.
const maxListSize = 1 << 30

// Declared lengths of fixed-size lists travel as bytes, so that they can be hashed and stored
// beside a schema: for each list, sorted by path, a uvarint length of the path, the path, and a
// uvarint list length.

func formatListSizes(sizes map[string]int) []byte {
	var b []byte
	for _, p := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
		b = binary.AppendUvarint(b, uint64(sizes[p]))
	}
	return b
}

// parseListSizes returns nil when the bytes are malformed: lists are ragged then, which is always
// right.
func parseListSizes(b []byte) map[string]int {
	sizes := map[string]int{}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil
		}
		path := string(b[k : k+int(n)])
		b = b[k+int(n):]
		size, k := binary.Uvarint(b)
		if k <= 0 || size > maxListSize {
			return nil
		}
		b = b[k:]
		sizes[path] = int(size)
	}
	return sizes
}
