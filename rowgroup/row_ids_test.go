package rowgroup

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
)

type numbered struct {
	ID   int64  `parquet:"id"`
	Text string `parquet:"text"`
}

// numberedRows are n rows from a number on.
func numberedRows(from, n int) []numbered {
	rows := make([]numbered, n)
	for i := range rows {
		rows[i] = numbered{ID: int64(from + i), Text: strings.Repeat("x", i%5)}
	}
	return rows
}

// A row keeps its number in slices, orders and parts; "id" counts as the numbers do.
func TestRowIDs(t *testing.T) {
	files := map[string][]byte{
		"a.parquet": writeRows(t, [][]numbered{numberedRows(0, 30), numberedRows(30, 50)}),
		"b.parquet": writeRows(t, [][]numbered{numberedRows(80, 40)}),
	}
	store, shards := putFiles(t, files)
	shards[1].Source = 7
	m, err := Open(context.Background(), store, shards, Options{RowIDs: true, Columns: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	d := m.NewDecoder()
	defer d.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	part, _ := inParts(rng, 30, 20, 3)
	for _, c := range []struct {
		name   string
		rows   Rows
		layout Layout
		source uint32
	}{
		{"whole", Rows{RowGroup: 1, Hi: 50}, Layout{}, 0},
		{"slice", Rows{RowGroup: 1, Lo: 13, Hi: 44}, Layout{}, 0},
		{"second shard", Rows{Shard: 1, Lo: 5, Hi: 40}, Layout{}, 7},
		{"order", Rows{Lo: 3, Hi: 8}, Layout{Order: []uint32{4, 0, 2}}, 0},
		{"parts", Rows{Hi: 30}, part, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := fetch(t, m, c.rows)
			defer raw.Release()
			blocks, err := d.Decode(raw, c.layout)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				checkRowIDs(t, m, b, c.source)
				b.Release()
			}
		})
	}
}

// checkRowIDs holds the made columns of a block against its column "id".
func checkRowIDs(t *testing.T, m *Reader, b *Block, source uint32) {
	t.Helper()
	var g Gatherer
	picks := make([]Pick, b.Rows())
	for i := range picks {
		picks[i] = MakePick(0, i)
	}
	columns := make([][]byte, 3)
	for i, name := range []string{"id", RowColumn, SourceColumn} {
		f := m.Schema().Fields[i]
		if f.Name != name || f.Made != (i > 0) {
			t.Fatalf("column %d is %s, made: %v", i, f.Name, f.Made)
		}
		a, err := g.Gather(i, f, []*Block{b}, picks, heap)
		if err != nil || a.Nulls > 0 {
			t.Fatal(a.Nulls, err)
		}
		columns[i] = a.Data
	}
	for i := range picks {
		id, row := binary.LittleEndian.Uint64(columns[0][8*i:]), binary.LittleEndian.Uint64(columns[1][8*i:])
		if got := binary.LittleEndian.Uint32(columns[2][4*i:]); row != id || got != source {
			t.Fatalf("row %d of the block: number %d and source %d, want %d and %d", i, row, got, id, source)
		}
	}
}

func TestRowIDsTakeMemory(t *testing.T) {
	file := map[string][]byte{"f.parquet": filetest.File{Schema: `required int32 a;`, Rows: []int{100_000}}.Bytes(t)}
	without, with := openBytes(t, Options{}, file), openBytes(t, Options{RowIDs: true}, file)
	before, _ := without.DecodedBytes(0)
	after, _ := with.DecodedBytes(0)
	if added := after - before; added < 900_000 || added > 2_000_000 { // 8 bytes, and a code
		t.Errorf("row ids add %d bytes", added)
	}
	if whole := with.WholeBytes(0) - without.WholeBytes(0); whole > 256<<10 {
		t.Errorf("row ids add %d bytes that cannot be divided", whole)
	}
	_, values := without.TotalBytes()
	if _, got := with.TotalBytes(); got-values < 900_000 {
		t.Errorf("row ids add %d bytes of values", got-values)
	}
	if got := with.Scratch(0).Column; got < 800_000 {
		t.Errorf("the largest column is laid out from %d bytes", got)
	}
}

func TestRowIDsNamesTaken(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"f.parquet": filetest.File{Schema: `required int32 a; required int32 source;`, Rows: []int{10}}.Bytes(t)})
	for _, c := range []struct {
		name    string
		columns []string
		named   bool
		wrong   string
	}{
		{"read", nil, true, "source"},
		{"left out", []string{"a"}, true, ""},
		{"keys", nil, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Open(context.Background(), store, shards, Options{RowIDs: c.named, RowKeys: true, Columns: c.columns})
			if err == nil {
				m.Close()
			}
			var e *Error
			if c.wrong == "" && err == nil {
				return
			}
			if !errors.As(err, &e) || e.Column != c.wrong {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	m := openBytes(t, Options{}, map[string][]byte{
		"a.parquet": filetest.File{Schema: `required int32 a;`, Rows: []int{4, 0, 3}}.Bytes(t),
		"b.parquet": filetest.File{Schema: `required int32 a;`, Rows: []int{0, 2}}.Bytes(t),
	})
	for _, c := range []struct {
		row, within int64
		group       int // -1: an error
	}{
		{-1, 0, -1},
		{0, 0, 0},
		{3, 3, 0},
		{4, 0, 2},
		{6, 2, 2},
		{7, 0, 4},
		{8, 1, 4},
		{9, 0, -1},
	} {
		group, within, err := m.Locate(c.row)
		if c.group < 0 {
			if err == nil || !strings.Contains(err.Error(), "0 to 8") {
				t.Errorf("row %d: %v", c.row, err)
			}
			continue
		}
		if err != nil || group != c.group || within != c.within {
			t.Errorf("row %d is row %d of group %d: %v", c.row, within, group, err)
		}
	}
}
