package rowio

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// binaryColumn is a column of these values; none are null.
func binaryColumn(name string, typ column.Type, values ...string) *column.Array {
	a := &column.Array{Field: &column.Field{Name: name, Kind: column.Binary, Type: typ}, Len: len(values), Offsets: []int32{0}}
	for _, v := range values {
		a.Data = append(a.Data, v...)
		a.Offsets = append(a.Offsets, int32(len(a.Data)))
	}
	return a
}

func schemaOf(columns ...*column.Array) *column.Schema {
	s := &column.Schema{}
	for _, a := range columns {
		s.Fields = append(s.Fields, a.Field)
	}
	return s
}

func TestShortColumns(t *testing.T) {
	list := &column.Array{Field: &column.Field{Name: "l", Kind: column.List}, Len: 1, Offsets: []int32{0, 2}}
	for _, c := range []struct {
		name  string
		array *column.Array
		want  []string
	}{
		{"short text", binaryColumn("t", column.TypeString, "", "abc"), []string{"", "abc"}},
		{"long text", binaryColumn("t", column.TypeString, strings.Repeat("語", 1234)), []string{strings.Repeat("語", 100) + "... (1,234 characters)"}},
		{"text of as many characters", binaryColumn("t", column.TypeJSON, strings.Repeat("語", 100)), []string{strings.Repeat("語", 100)}},
		{"short bytes", binaryColumn("b", column.TypeBinary, "\x00\xff"), []string{"AP8="}},
		{"long bytes", binaryColumn("b", column.TypeBSON, strings.Repeat("\x00", 2000)), []string{"AAAAAAAAAAAAAAAA... (2,000 bytes)"}},
		{
			"fixed bytes",
			&column.Array{Field: &column.Field{Kind: column.Fixed, Type: column.TypeFixedBinary, Width: 25}, Len: 1, Data: make([]byte, 25)},
			[]string{"AAAAAAAAAAAAAAAA... (25 bytes)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			short := ShortColumns([]*column.Array{c.array}, ShortSchema(schemaOf(c.array)))[0]
			got, err := column.Strings(short)
			if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	items := binaryColumn("item", column.TypeBinary, "a", strings.Repeat("b", 99))
	list.Field.Children, list.Children = []*column.Field{items.Field}, []*column.Array{items}
	short := ShortColumns([]*column.Array{list}, ShortSchema(schemaOf(list)))[0]
	if got, err := column.Strings(short.Children[0]); err != nil || got[1] != "YmJiYmJiYmJiYmJi... (99 bytes)" {
		t.Errorf("the items are %q, %v", got, err)
	}
	if column.TypeBinary != items.Field.Type || items.Len != 2 {
		t.Error("the data set's own column was changed")
	}
}

func TestRowTable(t *testing.T) {
	ids := binaryColumn("id", column.TypeString, "a\x1b[31m", strings.Repeat("x", 50))
	label := binaryColumn("label", column.TypeString, "가방", "b")
	number := &column.Array{Field: &column.Field{Name: "n", Type: column.TypeInt8, Width: 1}, Len: 2, Data: []byte{7, 100}, Nulls: 1, Valid: []byte{0b10}}
	columns := []*column.Array{ids, number, label}
	for _, c := range []struct {
		name  string
		full  bool
		width int
		want  string
	}{
		{
			"lines", false, 0,
			"id                                           n  label\n" +
				"a\\x1b[31m                                 null  가방\n" +
				strings.Repeat("x", 37) + "...   100  b\n",
		},
		{
			"values, when lines are wider than the terminal", false, 20,
			"id     a\\x1b[31m\nn      null\nlabel  가방\n\nid     " + strings.Repeat("x", 37) + "...\nn      100\nlabel  b\n",
		},
		{
			"values in full", true, 20,
			"id     a\\x1b[31m\nn      null\nlabel  가방\n\nid     " + strings.Repeat("x", 50) + "\nn      100\nlabel  b\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := NewTable(schemaOf(columns...), c.full, ShownItems)
			if err := table.Add(columns, 2); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := table.Print(&out, c.width); err != nil || out.String() != c.want {
				t.Errorf("%v, got\n%swant\n%s", err, out.String(), c.want)
			}
		})
	}
}
