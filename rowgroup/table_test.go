package rowgroup

import (
	"context"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
)

// numberedFields gives the columns of a file field IDs from 1 on.
func numberedFields(m *format.FileMetaData) {
	for i := range m.Schema[1:] {
		m.Schema[i+1].FieldID = int32(i + 1)
	}
}

func intField(name string, id int32, width int, nullable bool) table.Field {
	t := map[int]column.Type{4: column.TypeInt32, 8: column.TypeInt64}[width]
	return table.Field{Column: &column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width, Nullable: nullable}, ID: id}
}

func openTable(t *testing.T, files map[string][]byte, tb Table, rules ...RuleColumn) (*Reader, error) {
	t.Helper()
	store, shards := putFiles(t, files)
	tb.Address = "delta+mem://t"
	m, err := Open(context.Background(), store, shards, Options{Table: &tb, RuleColumns: rules})
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

// A table's columns have its names, order and types, whatever its files have.
func TestTableColumns(t *testing.T) {
	file := filetest.File{Schema: `required int32 old; optional int32 other;`, Rows: []int{3}, Meta: numberedFields}.Bytes(t)
	with := func(fields ...table.Field) Table { return Table{Fields: fields} }
	defaulted := intField("d", 9, 4, false)
	defaulted.Default = &table.Value{Data: []byte{1, 0, 0, 0}}
	for name, c := range map[string]struct {
		table Table
		want  string
	}{
		"renamed and moved":     {with(intField("b", 2, 4, true), intField("new", 1, 4, false)), "b int32?, new int32"},
		"widened":               {with(intField("a", 1, 8, false)), "a int64"},
		"added":                 {with(intField("a", 1, 4, false), intField("more", 7, 8, true)), "a int32, more int64?"},
		"added with a default":  {with(intField("a", 1, 4, false), defaulted), "a int32, d int32"},
		"dropped and re-added":  {with(intField("old", 5, 4, true)), "old int32?"},
		"constant in the place": {Table{Fields: []table.Field{intField("p", 2, 8, false), intField("a", 1, 4, false)}, Constants: [][]table.Constant{{{Field: 0, Value: table.Value{Data: make([]byte, 8)}}}}}, "p int64, a int32"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := openTable(t, map[string][]byte{"f.parquet": file}, c.table)
			if err != nil {
				t.Fatal(err)
			}
			if got := columnsText(m); got != c.want {
				t.Errorf("columns are %s, want %s", got, c.want)
			}
		})
	}
	empty := with(intField("a", 1, 8, false), intField("b", 2, 4, true))
	m, err := Open(context.Background(), &mem.Store{}, nil, Options{Table: &empty})
	if err != nil {
		t.Fatal(err)
	}
	if got := columnsText(m); got != "a int64, b int32?" || m.NumRows() != 0 {
		t.Errorf("a table without files has %s", got)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A file that does not fit the table is named, with the column.
func TestTableRefuses(t *testing.T) {
	numbered := filetest.File{Schema: `required int64 a;`, Rows: []int{3}, Meta: numberedFields}.Bytes(t)
	plain := filetest.File{Schema: `required int64 a;`, Rows: []int{3}}.Bytes(t)
	for name, c := range map[string]struct {
		file  []byte
		field table.Field
		want  string
	}{
		"narrower type": {numbered, intField("a", 1, 4, false), "its type is int64 here and int32 in the table"},
		"required":      {numbered, intField("b", 2, 4, false), "the table requires it"},
		"no IDs":        {plain, intField("a", 1, 8, false), "has no field IDs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openTable(t, map[string][]byte{"f.parquet": c.file}, Table{Fields: []table.Field{c.field}})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.parquet") || !strings.Contains(err.Error(), c.field.Column.Name) {
				t.Errorf("got %v, want %q, the file and the column in it", err, c.want)
			}
		})
	}
}

// A rule sees each shard's constant before anything is read.
func TestTableConstantStats(t *testing.T) {
	file := filetest.File{Schema: `required int32 a;`, Rows: []int{3}, Meta: numberedFields}.Bytes(t)
	one, null := []table.Constant{{Field: 1, Value: table.Value{Data: []byte{7, 0, 0, 0}}}}, []table.Constant{{Field: 1, Value: table.Value{Null: true}}}
	m, err := openTable(t, map[string][]byte{"f.parquet": file, "g.parquet": file},
		Table{Fields: []table.Field{intField("a", 1, 4, false), intField("p", 2, 4, true)}, Constants: [][]table.Constant{one, null}}, RuleColumn{Path: "p"})
	if err != nil {
		t.Fatal(err)
	}
	of := func(shard int) rule.ColumnStats { return m.PartitionStats(shard).Column(0) }
	if s := of(0); s.Distinct == nil || s.Distinct.Data[0] != 7 {
		t.Errorf("the statistics of the first shard are %+v", s)
	}
	if s := of(1); s.Nulls != s.Rows || s.Rows == 0 {
		t.Errorf("the statistics of the second shard are %+v", s)
	}
}
