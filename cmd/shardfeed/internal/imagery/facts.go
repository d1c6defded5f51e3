package imagery

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
)

// Facts show images by what their headers say, in place of their bytes.
type Facts struct {
	schema *column.Schema // with a struct in place of each image
	files  *Files         // where the images are written; nil: nowhere
	row    int            // the column of row ids, if files are written
	names  map[*column.Field]string
}

// NewFacts shows the images of a schema; files may be nil.
func NewFacts(schema *column.Schema, found Columns, files *Files) *Facts {
	f := &Facts{schema: &column.Schema{}, files: files, names: map[*column.Field]string{}}
	for _, field := range schema.Fields {
		f.schema.Fields = append(f.schema.Fields, f.field(field, field.Name, found))
	}
	f.row = slices.IndexFunc(schema.Fields, func(f *column.Field) bool { return f.Made && f.Type == column.TypeInt64 })
	return f
}

// Schema has a struct in place of each image.
func (f *Facts) Schema() *column.Schema { return f.schema }

// Close closes the directory of files.
func (f *Facts) Close() error {
	if f == nil || f.files == nil {
		return nil
	}
	return f.files.Close()
}

// field is a node with a struct in place of each image; path is its name for files.
func (f *Facts) field(node *column.Field, path string, found Columns) *column.Field {
	to := *node
	if found[node] {
		to.Kind, to.Type, to.Children = column.Struct, column.TypeNone, factFields(f.files != nil)
		f.names[node] = f.files.unique(path)
		return &to
	}
	to.Children = nil
	for _, child := range node.Children {
		below := path
		if node.Kind == column.Struct {
			below += "." + child.Name
		}
		to.Children = append(to.Children, f.field(child, below, found))
	}
	return &to
}

// factFields are the members of an image: null where the value is not an image, or its header is
// damaged.
func factFields(files bool) []*column.Field {
	text := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Binary, Type: column.TypeString, Nullable: true}
	}
	number := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt64, Width: 8, Nullable: true}
	}
	fields := []*column.Field{text("format"), number("width"), number("height"), number("bytes")}
	if files {
		fields = append(fields, text("file"))
	}
	return fields
}

// Columns are the columns of rows as the schema of facts has them, whose images are written where
// there are files.
func (f *Facts) Columns(columns []*column.Array) ([]*column.Array, error) {
	id := func(int) string { return "" }
	if f.files != nil {
		rows := columns[f.row]
		id = func(i int) string { return f.files.row(binary.LittleEndian.Uint64(rows.Data[8*i:])) }
	}
	all := make([]*column.Array, len(columns))
	for c, a := range columns {
		var err error
		if all[c], err = f.array(a, f.schema.Fields[c], id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// array is a node as a field of the facts has it. id names value i.
func (f *Facts) array(a *column.Array, to *column.Field, id func(i int) string) (*column.Array, error) {
	if name, ok := f.names[a.Field]; ok {
		return f.facts(a, to, func(i int) string { return id(i) + "-" + name })
	}
	own := *a
	own.Field, own.Children = to, nil
	if a.Field.Kind == column.List || a.Field.Kind == column.Map {
		id = itemIDs(a, id)
	}
	for i, child := range a.Children {
		below, err := f.array(child, to.Children[i], id)
		if err != nil {
			return nil, err
		}
		own.Children = append(own.Children, below)
	}
	return &own, nil
}

// itemIDs returns names for the items of lists: the list's id and the item's index.
func itemIDs(a *column.Array, id func(i int) string) func(i int) string {
	owners := make([]int, a.Children[0].Len)
	for i := range a.Len {
		for k, hi := a.Items(i); k < hi; k++ {
			owners[k] = i
		}
	}
	return func(k int) string {
		lo, _ := a.Items(owners[k])
		return id(owners[k]) + "-" + strconv.Itoa(k-lo)
	}
}

// facts are the facts of a column of images.
func (f *Facts) facts(a *column.Array, to *column.Field, name func(i int) string) (*column.Array, error) {
	own := &column.Array{Field: to, Len: a.Len, Nulls: a.Nulls, Valid: a.Valid}
	for _, child := range to.Children {
		own.Children = append(own.Children, newFact(child, a.Len))
	}
	for i := range a.Len {
		var file []byte
		if !a.IsNull(i) {
			file = rowio.ValueOf(a, i)
		}
		h, err := codec.ReadHeader(file)
		addText(own.Children[0], i, h.Format.String(), h.Format != codec.Unknown)
		addNumber(own.Children[1], i, h.Width, err == nil)
		addNumber(own.Children[2], i, h.Height, err == nil)
		addNumber(own.Children[3], i, len(file), !a.IsNull(i))
		if f.files == nil {
			continue
		}
		written := ""
		if h.Format != codec.Unknown {
			if written, err = f.files.write(name(i), h.Format, file); err != nil {
				return nil, err
			}
		}
		addText(own.Children[4], i, written, written != "")
	}
	return own, nil
}

func newFact(f *column.Field, n int) *column.Array {
	a := &column.Array{Field: f, Len: n, Valid: make([]byte, (n+7)/8)}
	if f.Kind == column.Binary {
		a.Offsets = []int32{0}
	}
	return a
}

// addText is value i of a text, null unless it is valid.
func addText(a *column.Array, i int, text string, valid bool) {
	if valid {
		a.Data = append(a.Data, text...)
	}
	a.Offsets = append(a.Offsets, int32(len(a.Data)))
	addValid(a, i, valid)
}

// addNumber is value i of a number, null unless it is valid.
func addNumber(a *column.Array, i, n int, valid bool) {
	if !valid {
		n = 0
	}
	a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(n))
	addValid(a, i, valid)
}

func addValid(a *column.Array, i int, valid bool) {
	if valid {
		a.Valid[i>>3] |= 1 << (i & 7)
		return
	}
	a.Nulls++
}
