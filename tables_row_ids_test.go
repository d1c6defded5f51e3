package shardfeed

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

const trackedTable = "testdata/tables/delta/tracked"

// writtenRowIDs are the row IDs of a version of trackedTable by its writer, by id.
func writtenRowIDs(t *testing.T, version string) map[int64]int64 {
	t.Helper()
	text, err := os.ReadFile(trackedTable + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var versions map[string]tabletest.Written
	if err := json.Unmarshal(text, &versions); err != nil {
		t.Fatal(err)
	}
	all := map[int64]int64{}
	for _, row := range versions[version].Rows {
		var id, rowID int64
		if err := json.Unmarshal(fmt.Appendf(nil, "%s", row[0]), &id); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(row[len(row)-1], &rowID); err != nil {
			t.Fatal(err)
		}
		all[id] = rowID
	}
	return all
}

// readRowIDs reads an epoch of a rank: row IDs by id.
func readRowIDs(t *testing.T, d *Dataset, s Spec, rank, world int) map[int64]int64 {
	t.Helper()
	o := s.LoaderOptions()
	o.Rank, o.WorldSize, o.Epochs = rank, world, 1
	l, err := loader.New(d.Dataset, o)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int64]int64{}
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		values := map[string][]int64{}
		for _, c := range b.Columns {
			if values[c.Field.Name], err = column.Values[int64](c); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range values["id"] {
			all[id] = values["_row_id"][i]
		}
		b.Release()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func rowIDSpec(version string) Spec {
	s := tableSpec(version)
	s.Addresses, s.Columns, s.Tail = []string{"delta+" + trackedTable}, []string{"id", "_row_id"}, shuffle.Short
	return s
}

// Row IDs are the writer's, shuffled over ranks, in units of a few rows, by a saved
// plan, and of the rows that a filter of them chooses.
func TestRowIDsOfTable(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, c := range []struct {
		name   string
		world  int
		change func(s *Spec)
		keep   func(rowID int64) bool
	}{
		{"ranks", 3, func(*Spec) {}, nil},
		{"slices", 1, func(s *Spec) { s.UnitRows = 7 }, nil},
		{"file order", 1, func(s *Spec) { s.Shuffle = false }, nil},
		{"filter", 1, func(s *Spec) { s.Filters = "_row_id < 30 or _row_id = 61" }, func(n int64) bool { return n < 30 || n == 61 }},
		{"filter in slices", 1, func(s *Spec) { s.Filters, s.UnitRows = "hash(_row_id) % 1 = 0 and _row_id < 41", 5 }, func(n int64) bool { return n < 41 }},
		{"filter of all rows", 1, func(s *Spec) { s.Filters = "_row_id >= 0" }, nil},
		{"filter of new rows", 1, func(s *Spec) { s.Filters = "_row_id >= 70" }, func(n int64) bool { return n >= 70 }},
		{"plan", 2, func(s *Spec) {
			plan := filepath.Join(t.TempDir(), "plan")
			if err := openSpec(t, *s).SavePlan(plan, 2, iterable.StreamOptions{BatchSize: s.BatchSize}); err != nil {
				t.Fatal(err)
			}
			s.Plan, s.Snapshot = plan, ""
		}, nil},
	} {
		for _, version := range []string{"5", "10"} { // some files of the first have the IDs of some rows
			t.Run(c.name+" of version "+version, func(t *testing.T) {
				s := rowIDSpec(version)
				c.change(&s)
				d := openSpec(t, s)
				got, want := map[int64]int64{}, writtenRowIDs(t, version)
				maps.DeleteFunc(want, func(_, n int64) bool { return c.keep != nil && !c.keep(n) })
				for rank := range c.world {
					maps.Copy(got, readRowIDs(t, d, s, rank, c.world))
				}
				if !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// The column is read only where it is named.
func TestRowIDsAreAskedFor(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "id body n"},
		{[]string{"*"}, "id body n"},
		{[]string{"_*", "n", "_row_id"}, ""},
		{[]string{"_row_id", "n"}, "n _row_id"},
	} {
		s := rowIDSpec("10")
		s.Columns = c.columns
		if c.want == "" {
			if d, err := Open(t.Context(), s, Events{}); err == nil {
				t.Errorf("%v: no error", c.columns)
				_ = d.Close(t.Context())
			}
			continue
		}
		var names []string
		for _, f := range openSpec(t, s).Schema().Fields {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: columns are %s, want %s", c.columns, got, c.want)
		}
	}
}

// Names of row IDs that a table lacks are refused, with the way to read the IDs.
func TestRowIDsThatAreNotTracked(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, c := range []struct {
		table, name string
		want        []string
	}{
		{"rs", "_row_id", []string{"does not track rows in snapshot 7", `no column "_row_id"`, "SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"}},
		{"tracked", "_metadata.row_id", []string{"Spark's name of the row ids (they are in the column _row_id)"}},
		{"tracked", "_row_commit_version", []string{"_row_commit_version, the commit that changed a row last, cannot be read"}},
		{"tracked", "_metadata.row_commit_version", []string{"cannot be read"}},
	} {
		for _, change := range []func(s *Spec){func(s *Spec) { s.Columns = []string{c.name} }, func(s *Spec) { s.Filters = c.name + " = 4" }} {
			s := tableSpec("7")
			s.Addresses = []string{"delta+testdata/tables/delta/" + c.table}
			change(&s)
			d, err := Open(t.Context(), s, Events{})
			if err == nil {
				t.Error(c.name, d.Close(t.Context()))
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		}
	}
}

// A mixture has the IDs of its tables, and nulls for other sources.
func TestRowIDsInMixture(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	plain := t.TempDir()
	writeNumbers(t, filepath.Join(plain, "a.parquet"), 5000)
	s := Spec{Missing: "null", Columns: []string{"id", "_row_id"}, BatchSize: 10, Sources: []Source{
		{Name: "table", Addresses: []string{"delta+" + trackedTable}, Snapshot: "10", Repeat: 1},
		{Name: "plain", Addresses: []string{plain}, Rename: map[string]string{"n": "id"}, Choose: 60},
	}}
	s.Shuffle, s.Tail = true, shuffle.Short
	s.Null = map[string]json.RawMessage{"_row_id": json.RawMessage("-1")}
	got := readRowIDs(t, openSpec(t, s), s, 0, 1)
	for id, n := range got {
		if id >= 5000 && n != -1 {
			t.Errorf("row %d of a plain file has the ID %d", id, n)
		}
	}
	maps.DeleteFunc(got, func(id, _ int64) bool { return id >= 5000 })
	if want := writtenRowIDs(t, "10"); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
