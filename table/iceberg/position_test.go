package iceberg

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A second opening reads no position delete files, and one of a later snapshot those of the data
// files to which a new one applies.
func TestPositionDeletesAreKept(t *testing.T) {
	kept := memory{}
	open := func(keeper table.Keeper, wantA, wantB string, wantDel, wantDel2, wantC int, more ...commit) {
		t.Helper()
		f := withData(append([]commit{
			{sequence: 5, files: []file{{content: contentPositions, path: del, lang: "en", rows: 2, size: 50}}},
			{sequence: 6, files: []file{{content: contentPositions, path: del2, lang: "de", rows: 1, size: 50, of: b}}},
		}, more...)...)
		f.keeper = keeper
		f.columns[del] = positionsIn()
		f.columns[del2] = map[int32]*column.Array{2147483546: texts(b), 2147483545: ints(4)}
		f.columns[c] = map[int32]*column.Array{2147483546: texts(a, b), 2147483545: ints(9, 9)}
		s, err := f.open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != wantA || y != wantB {
			t.Errorf("rows %s of a and %s of b, want %s and %s", x, y, wantA, wantB)
		}
		for i := range s.Files {
			if by := s.Files[i].DeletedBy[table.ByPosition]; by != s.Files[i].Deleted.Len() {
				t.Errorf("%d of %d rows are deleted by position", by, s.Files[i].Deleted.Len())
			}
		}
		if f.scans[del] != wantDel || f.scans[del2] != wantDel2 || f.scans[c] != wantC {
			t.Errorf("scans %v, want %d, %d and %d", f.scans, wantDel, wantDel2, wantC)
		}
	}
	open(nil, "[3]", "[4]", 1, 1, 0)
	open(kept, "[3]", "[4]", 1, 1, 0)
	open(kept, "[3]", "[4]", 0, 0, 0)

	later := func(lang, of string, sequence int64) commit {
		return commit{sequence: sequence, files: []file{{content: contentPositions, path: c, lang: lang, rows: 2, size: 50, of: of}}}
	}
	open(kept, "[3 9]", "[4]", 1, 0, 1, later("en", "", 7))
	open(kept, "[3 9]", "[4]", 0, 0, 0, later("en", "", 7))
	open(kept, "[3]", "[4 9]", 0, 1, 1, later("de", b, 7))
	open(kept, "[3]", "[4]", 0, 0, 0, later("de", b, 1)) // older than b
}

// Position delete files do not add to rows that are kept.
func TestKeptPositionsStay(t *testing.T) {
	kept := memory{}
	f := withData(commit{sequence: 5, files: []file{{content: contentPositions, path: del, lang: "en", rows: 2, size: 50}}})
	f.keeper = kept
	f.columns[del] = positionsIn()
	if _, err := f.open(t, ""); err != nil {
		t.Fatal(err)
	}
	// The delete file is read again for c, which is new.
	f = withData(
		commit{sequence: 4, files: []file{{path: c, lang: "en", rows: 10, size: 100}}},
		commit{sequence: 5, files: []file{{content: contentPositions, path: del, lang: "en", rows: 2, size: 50}}},
	)
	f.keeper = kept
	f.columns[del] = map[int32]*column.Array{2147483546: texts(a, c), 2147483545: ints(8, 7)}
	s, err := f.open(t, "")
	if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, c)); err != nil || x != "[3]" || y != "[7]" || f.scans[del] != 1 {
		t.Errorf("rows %s of a and %s of c, %v, %v", x, y, f.scans, err)
	}
}

// A second opening reads no deletion vectors, and one of a later snapshot only the new ones.
func TestVectorsAreKept(t *testing.T) {
	kept := memory{}
	open := func(off int64, content []byte, wantA, wantB string) {
		t.Helper()
		n := int64(len(vectorOf(0)))
		f := withData(commit{sequence: 3, files: []file{
			{path: puffin, format: "puffin", lang: "en", content: contentPositions, rows: 1, size: 500, of: a, blob: shard.Span{Off: 4, N: n}},
			{path: puffin, format: "puffin", lang: "de", content: contentPositions, rows: 1, size: 500, of: b, blob: shard.Span{Off: off, N: n}},
		}})
		f.keeper = kept
		f.put(puffin, content)
		s, err := f.open(t, "")
		if err != nil {
			t.Fatal(err)
		}
		if x, y := fmt.Sprint(deletedRows(s, a)), fmt.Sprint(deletedRows(s, b)); x != wantA || y != wantB {
			t.Errorf("rows %s of a and %s of b, want %s and %s", x, y, wantA, wantB)
		}
		if by := s.Files[0].DeletedBy[table.ByVector]; by != 1 {
			t.Errorf("%d rows are deleted by vectors, want 1", by)
		}
	}
	content := make([]byte, 500)
	copy(content[4:], vectorOf(5))
	copy(content[200:], vectorOf(0))
	open(200, content, "[5]", "[0]")
	open(200, make([]byte, 500), "[5]", "[0]")
	content = make([]byte, 500)
	copy(content[300:], vectorOf(6))
	open(300, content, "[5]", "[6]")
}
