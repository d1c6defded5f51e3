package rowgroup

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/table"
)

// Files have the IDs of some rows, of all or of no row, with and without a dictionary. The other
// rows count from the first ID of the file, in each slice of each row group.
func TestRowIDColumn(t *testing.T) {
	ids := table.Field{Column: &column.Field{Name: "_row_id", Kind: column.Fixed, Type: column.TypeInt64, Width: 8}, ID: 9, RowIDs: true}
	for name, stored := range map[string]func(i int) bool{
		"some":   func(i int) bool { return i%3 == 1 },
		"none":   func(int) bool { return false },
		"all":    func(int) bool { return true },
		"absent": func(int) bool { return false },
	} {
		if ids.ID = 9; name == "absent" {
			ids.ID = 77
		}
		for _, coded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/coded %t", name, coded), func(t *testing.T) {
				want := make([]int64, 300)
				file := movedFile(t, coded, func(i int) (id *int64) {
					want[i] = 5000 + int64(i)
					if stored(i) {
						want[i] = int64(i % 7)
						id = &want[i]
					}
					return id
				})
				m, err := openTable(t, map[string][]byte{"f.parquet": file}, Table{Fields: []table.Field{intField("id", 1, 8, false), ids}, FirstRows: []int64{5000}}, RuleColumn{Path: "_row_id"})
				if err != nil {
					t.Fatal(err)
				}
				if got := columnsText(m); got != "id int64" {
					t.Errorf("unasked columns are %s", got)
				}
				checkRowIDColumn(t, file, ids, want)
			})
		}
	}
}

func movedFile(t *testing.T, coded bool, id func(i int) *int64) []byte {
	t.Helper()
	var b bytes.Buffer
	schema := parquet.Node(parquet.Group{"id": parquet.FieldID(parquet.Int(64), 1), "stored": parquet.FieldID(parquet.Optional(parquet.Int(64)), 9)})
	if coded {
		schema = parquet.Group{"id": parquet.FieldID(parquet.Int(64), 1), "stored": parquet.FieldID(parquet.Encoded(parquet.Optional(parquet.Int(64)), &parquet.RLEDictionary), 9)}
	}
	w := parquet.NewWriter(&b, parquet.NewSchema("m", schema), parquet.PageBufferSize(200))
	for i := range 300 {
		row := parquet.Row{parquet.Int64Value(int64(i)).Level(0, 0, 0), parquet.NullValue().Level(0, 0, 1)}
		if v := id(i); v != nil {
			row[1] = parquet.Int64Value(*v).Level(0, 1, 1)
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		if i%120 == 119 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkRowIDColumn decodes slices of the file's row groups, whole, in an order and for a rule.
func checkRowIDColumn(t *testing.T, file []byte, ids table.Field, want []int64) {
	t.Helper()
	store, shards := putFiles(t, map[string][]byte{"f.parquet": file})
	tb := Table{Fields: []table.Field{intField("id", 1, 8, false), ids}, FirstRows: []int64{5000}}
	m, err := Open(context.Background(), store, shards, Options{Table: &tb, Columns: []string{"_row_id"}, RuleColumns: []RuleColumn{{Path: "_row_id"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if known := checkStats(t, m); known.bounds == 0 || known.none == 0 || known.all == 0 {
		t.Errorf("statistics say little of IDs: %+v", known)
	}
	d := m.NewDecoder()
	defer d.Close()
	for g, first := range []int{0, 120, 240} {
		rows := m.Groups()[g].Rows
		for _, u := range []Rows{{RowGroup: g, Hi: rows}, {RowGroup: g, Lo: 13, Hi: 47}, {RowGroup: g, Lo: 45, Hi: rows}} {
			for _, order := range [][]uint32{nil, {5, 0, 9}} {
				raw := fetch(t, m, u)
				rules, err := d.DecodeRule(raw)
				if err != nil {
					t.Fatal(err)
				}
				values, err := column.Values[int64](rules[0].Values)
				if err != nil {
					t.Fatal(err)
				}
				for i := range int(u.Hi - u.Lo) {
					at := i
					if rules[0].Codes != nil {
						at = int(rules[0].Codes[i])
					}
					if values[at] != want[first+int(u.Lo)+i] {
						t.Fatalf("rule: row %d of %+v has the ID %d, want %d", i, u, values[at], want[first+int(u.Lo)+i])
					}
				}
				blocks, err := d.Decode(raw, Layout{Order: order})
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range gathered(t, m, blocks, len(order), int(u.Hi-u.Lo)) {
					at := i
					if order != nil {
						at = int(order[i])
					}
					if at += first + int(u.Lo); v != want[at] {
						t.Fatalf("row %d of %+v has the ID %d, want %d", i, u, v, want[at])
					}
				}
				blocks[0].Release()
				raw.Release()
			}
		}
	}
}

func gathered(t *testing.T, m *Reader, blocks []*Block, kept, rows int) []int64 {
	t.Helper()
	if kept > 0 {
		rows = kept
	}
	picks := make([]Pick, rows)
	for i := range picks {
		picks[i] = MakePick(0, i)
	}
	var g Gatherer
	a, err := g.Gather(0, m.Schema().Fields[0], blocks, picks, func(n int) ([]byte, error) { return make([]byte, n), nil })
	if err != nil {
		t.Fatal(err)
	}
	values, err := column.Values[int64](a)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
