package samples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// Rows of files are found by the file's address and size and by their name.
func TestDeletedRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	keeper := func() *DeletedRows {
		return &DeletedRows{Dir: dir, Identity: func(uri string) string { return uri }, Unusable: func(err error) { t.Error(err) }}
	}
	file, name := shard.Shard{URI: "/a.parquet", Size: 9}, [16]byte{7}
	var rows table.Rows
	for _, run := range [][2]int64{{0, 3}, {64, 65}, {100, 300}} {
		rows.Add(run[0], run[1])
	}
	first := keeper()
	if _, ok := first.Kept(file, name); ok {
		t.Error("rows in an empty directory")
	}
	first.Keep([]table.Found{{Shard: file, Name: name, Rows: rows}, {Shard: file, Name: [16]byte{8}}})

	found, ok := keeper().Kept(file, name)
	if !ok || found.Len() != rows.Len() {
		t.Fatalf("%d rows, %v, want %d", found.Len(), ok, rows.Len())
	}
	for row := range int64(400) {
		if found.Has(row) != rows.Has(row) {
			t.Errorf("row %d is deleted: %v, want %v", row, found.Has(row), rows.Has(row))
		}
	}
	if none, ok := keeper().Kept(file, [16]byte{8}); !ok || none.Len() != 0 {
		t.Errorf("%d rows of a file without deleted rows, %v", none.Len(), ok)
	}
	for _, other := range []shard.Shard{{URI: "/b.parquet", Size: 9}, {URI: "/a.parquet", Size: 8}} {
		if _, ok := keeper().Kept(other, name); ok {
			t.Errorf("%v has the rows of another file", other)
		}
	}

	names, err := filepath.Glob(dir + "/*" + countSuffix)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1]++
	if err := os.WriteFile(names[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := keeper().Kept(file, name); ok {
		t.Error("rows in a damaged segment")
	}
}

// Without a directory nothing is kept.
func TestDeletedRowsWithoutADirectory(t *testing.T) {
	d := &DeletedRows{Identity: func(uri string) string { return uri }}
	d.Keep([]table.Found{{}})
	if _, ok := d.Kept(shard.Shard{}, [16]byte{}); ok {
		t.Error("rows were kept")
	}
}

// Rows that do not fit are left out, and so are the ones behind them.
func TestDeletedRowsThatDoNotFit(t *testing.T) {
	d := &DeletedRows{Identity: func(uri string) string { return uri }}
	var some, many table.Rows
	some.Add(200, 300)
	for row := int64(0); row < 300; row += 3 { // two bytes for each
		many.Add(row, row+1)
	}
	found := []table.Found{{Name: [16]byte{1}, Rows: some}, {Name: [16]byte{2}, Rows: many}, {Name: [16]byte{3}, Rows: some}}
	for n, left := range []int{0, 67, 67 + 264, 67 + 264 + 67} {
		if got := d.entries(found, left); len(got) != n {
			t.Errorf("%d entries fit into %d bytes, want %d", len(got), left, n)
		}
		if n > 0 && len(d.entries(found, left-1)) != n-1 {
			t.Errorf("%d entries fit into %d bytes", n, left-1)
		}
		if n > 0 && len(formatCounts(d.entries(found, left))) != countHeader+left {
			t.Errorf("%d entries do not take %d bytes", n, left)
		}
	}
}
