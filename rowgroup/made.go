package rowgroup

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// Made are lists that a data set makes of its columns when it has decoded a unit. Columns that
// nothing else needs are decoded to memory of their own, which [Decoder.List] frees, and a tier
// keeps the lists in their place: a block of a unit whose lists are kept has them when it is
// decoded, and List leaves it as it is.
type Made struct {
	Form  string         // names the columns and the rule: equal ones make equal lists
	From  []int          // columns that the lists are made of
	Drop  []int          // columns of From that nothing else needs
	Lists []ListedColumn // in the schema that results
	Short []bool         // by list: its items are at least 0 and under 65,536

	// Make adds the lists to a block of a whole row group, by Decoder.List. It takes Scratch bytes
	// beside the lists.
	Make    func(d *Decoder, blocks []*Block) error
	Scratch int64

	kept []*column.Field // fields of the lists in images
}

// KeepMade sets the lists that are made of units. It comes before the reader's first decoder.
func (m *Reader) KeepMade(made Made) {
	for i, to := range made.Lists {
		f := to.Field
		if made.Short[i] {
			f = &column.Field{
				Name: f.Name, Kind: f.Kind, Nullable: f.Nullable,
				Children: []*column.Field{{Name: f.Children[0].Name, Kind: column.Fixed, Type: column.TypeUint16, Width: 2}},
			}
		}
		made.kept = append(made.kept, f)
	}
	m.made = &made
}

// KeepColumns returns the number of columns that may be in images, of which Keepable lists some.
func (m *Reader) KeepColumns() int { return m.made.width(len(m.schema.Fields)) }

// width is the number of columns of a block that has the lists. m may be nil, as in all methods.
func (m *Made) width(columns int) int {
	if m == nil {
		return columns
	}
	for _, to := range m.Lists {
		columns = max(columns, to.At+1)
	}
	return columns
}

// at is the place of the first list: an image with one has all.
func (m *Made) at() int {
	if m == nil {
		return -1
	}
	return m.Lists[0].At
}

// drops reports whether nothing but the lists needs a column.
func (m *Made) drops(col int) bool { return m != nil && slices.Contains(m.Drop, col) }

// from reports whether the lists are made of a column.
func (m *Made) from(col int) bool { return m != nil && slices.Contains(m.From, col) }

// fields are the fields of the columns in images.
func (m *Made) fields(columns []*schema.Node) []*column.Field {
	fields := make([]*column.Field, m.width(len(columns)))
	for i, n := range columns {
		fields[i] = n.Field
	}
	if m != nil {
		for i, to := range m.Lists {
			fields[to.At] = m.kept[i]
		}
	}
	return fields
}

// form names all that decides what the lists are.
func (m *Made) form() string {
	if m == nil {
		return ""
	}
	return fmt.Sprintln(m.Form, m.From, m.Drop, m.Lists[0].At, len(m.Lists), m.Short)
}

// delivered is a kept column as blocks have it: in memory of the arena if its items were shorter.
func (m *Made) delivered(col int, v *block.Vector, arena *mem.Arena) (w *block.Vector, widened bool) {
	if m == nil {
		return v, false
	}
	i := slices.IndexFunc(m.Lists, func(to ListedColumn) bool { return to.At == col })
	if i < 0 || v.Field == m.Lists[i].Field || v.Field != m.kept[i] {
		return v, false
	}
	return v.WideLists(m.Lists[i].Field, arena), true
}

// listsOf makes the lists of decoded columns of a row group, in memory of the decoder.
func (m *Made) listsOf(d *Decoder, decoded []*block.Vector) (lists []*block.Vector, err error) {
	rows := int(d.rows.Hi - d.rows.Lo)
	from := block.Origin{URI: d.raw.uri, RowGroup: d.raw.Rows.RowGroup, First: d.rows.Lo, InOrder: true}
	b := block.New(from, rows, decoded, d.newArena())
	defer b.Release()
	if err := m.Make(d, []*Block{b}); err != nil {
		return nil, err
	}
	for i, to := range m.Lists {
		lists = append(lists, block.Columns(b)[to.At].KeptLists(m.kept[i], d.loose))
	}
	return lists, nil
}

// reads returns the columns of the file that columns of an image are decoded from, ascending.
func (m *Made) reads(cols []int) []int {
	all := slices.Clone(cols)
	if at := slices.Index(all, m.at()); at >= 0 {
		all = append(slices.Delete(all, at, at+1), m.From...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// KeepBytes predicts the bytes of an image of all columns of a row group. It counts a token
// for four bytes of text.
func (m *Reader) KeepBytes(g int) int64 {
	narrow, wide := m.DecodedBytes(g)
	size := mem.Add(narrow, wide)
	if m.made == nil {
		return size
	}
	for _, col := range m.made.Drop {
		size -= m.FileBytes(g, col, nil)
	}
	for i := range m.made.Lists {
		for _, col := range m.made.From {
			size = mem.Add(size, m.FileBytes(g, col, nil)/4*int64(m.made.kept[i].Children[0].Width))
		}
	}
	return max(0, size)
}

// memory predicts what it takes to make the lists of a row group: twice the bytes of the texts, as
// in a load, and as much for the copies that are kept.
func (m *Made) memory(of *Manifest, g int) (n int64) {
	if m == nil {
		return 0
	}
	n = m.Scratch
	for _, col := range m.From {
		n = mem.Add(n, 4*int64(len(m.Lists))*of.FileBytes(g, col, nil))
	}
	return n
}
