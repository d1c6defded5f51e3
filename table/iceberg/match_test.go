package iceberg

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A memory keeps deleted rows.
type memory map[string]table.Rows

func (m memory) Kept(s shard.Shard, name [16]byte) (table.Rows, bool) {
	rows, ok := m[fmt.Sprint(s.URI, s.Size, name)]
	return rows, ok
}

func (m memory) Keep(found []table.Found) {
	for _, f := range found {
		var rows table.Rows
		for lo, hi := range f.Rows.Runs() {
			rows.Add(lo, hi)
		}
		m[fmt.Sprint(f.Shard.URI, f.Shard.Size, f.Name)] = rows
	}
}

// withEquality has a and b of withData, a position delete of row 3 of a, and an equality delete
// with some keys of both.
func withEquality(keeper table.Keeper, sequence int64, more ...commit) *fixture {
	positions := file{content: contentPositions, path: del2, lang: "en", rows: 2, size: 50}
	keys := file{content: contentEquality, path: del, rows: 2, size: 50, ids: []int64{1}}
	f := withData(append([]commit{{sequence: 5, files: []file{positions}}, {spec: 1, sequence: sequence, files: []file{keys}}}, more...)...)
	f.keeper = keeper
	f.columns[del2] = positionsIn()
	f.columns[del] = map[int32]*column.Array{1: ints(4, 9)}
	return f
}

// A second opening finds the rows of equality deletes without reading their keys or data files, and
// reads only the files that a later snapshot changes.
func TestEqualityDeletesAreKept(t *testing.T) {
	kept := memory{}
	open := func(f *fixture, wantA, wantB string, scans int) {
		t.Helper()
		s, err := f.open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != wantA || y != wantB {
			t.Errorf("rows %s of a and %s of b, want %s and %s", x, y, wantA, wantB)
		}
		if n := f.scans[del] + f.scans[c] + f.scans[a] + f.scans[b]; n != scans {
			t.Errorf("%d scans of keys, %v, want %d", n, f.scans, scans)
		}
	}
	open(withEquality(kept, 6), "[3 4 9]", "[4 9]", 3)
	if len(kept) != 3 {
		t.Fatalf("%d lists of rows are kept, want one of positions and two of keys", len(kept))
	}
	open(withEquality(kept, 6), "[3 4 9]", "[4 9]", 0)

	more := file{content: contentEquality, path: c, lang: "de", rows: 1, size: 50, ids: []int64{1}}
	f := withEquality(kept, 6, commit{sequence: 7, files: []file{more}})
	f.columns[c] = map[int32]*column.Array{1: ints(0)}
	open(f, "[3 4 9]", "[0 4 9]", 3) // a is as it was

	open(withEquality(kept, 2), "[3 4 9]", "[]", 2) // before b
	open(withEquality(nil, 6), "[3 4 9]", "[4 9]", 3)
}

// Kept rows that the file does not have are found again.
func TestKeptRowsBeyondTheFile(t *testing.T) {
	kept := memory{}
	if _, err := withEquality(kept, 6).open(t, ""); err != nil {
		t.Fatal(err)
	}
	for name := range kept {
		var rows table.Rows
		rows.Add(100, 101)
		kept[name] = rows
	}
	f := withEquality(kept, 6)
	s, err := f.open(t, "")
	if err != nil || fmt.Sprint(deletedRows(s, b)) != "[4 9]" || f.scans[b] != 1 {
		t.Errorf("rows %v of b by %v, %v", deletedRows(s, b), f.scans, err)
	}
}

// The name of kept rows changes with what finds a key column.
func TestNamesOfKeptRows(t *testing.T) {
	kept := memory{}
	for i, preset := range []string{`"x"`, `"y"`} {
		f := newFixture()
		f.keeper = kept
		schema := schemaOf(1, fieldOf(1, "id", `"long"`, ""), fieldOf(2, "lang", `"string"`, ""), fieldOf(9, "late", `"string"`, preset))
		f.meta["schemas"] = []any{schema}
		f.snapshot(
			commit{sequence: 1, files: []file{{path: a, lang: "en", rows: 10, size: 100}}},
			commit{spec: 1, sequence: 2, files: []file{{content: contentEquality, path: del, rows: 1, size: 50, ids: []int64{9}}}},
		)
		f.columns[a] = map[int32]*column.Array{1: count(0, 10)}
		f.columns[del] = map[int32]*column.Array{9: texts("x")}
		s, err := f.open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(deletedRows(s, a)); n != 10*(1-i) {
			t.Errorf("%d rows are deleted with the default %s", n, preset)
		}
	}
}
