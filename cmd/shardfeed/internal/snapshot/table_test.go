package snapshot

import (
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/table"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestTable(t *testing.T) {
	if Of(nil) != nil {
		t.Error("no table has a snapshot")
	}
	s := &table.Snapshot{Format: "Iceberg", Table: "u-1", Name: "7", Files: make([]table.File, 2)}
	if got, want := Of(s).String(), "Iceberg u-1, snapshot 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Time = time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	s.Files[1].Deleted.Add(3, 5)
	for _, c := range []struct {
		delete         func()
		rows           int64
		files, in, way int
		want           string
	}{
		{func() {}, 2, 1, 0, 0, "2 rows deleted in 1 file and left out"}, // as in plans of earlier versions
		{func() { s.Files[1].DeletedBy[table.ByPosition] = 2 }, 2, 1, 1, 1, "2 rows deleted in 1 file and left out, by position deletes"},
		{
			func() { s.Files[0].Delete(table.ByEquality, 0, 1000); s.Files[1].Delete(table.ByEquality, 4, 6) }, 1003, 2, 3, 2,
			"1,003 rows deleted in 2 files and left out: 2 by position deletes in 1 file, 1,001 by equality deletes in 2 files",
		},
	} {
		c.delete()
		got, want := Of(s), "Iceberg u-1, snapshot 7 of 2026-01-31T12:00:00Z; "+c.want
		if got.String() != want || got.Deleted != c.rows || got.Files != c.files {
			t.Errorf("got %q, want %q: %+v", got, want, got)
		}
		in := 0
		for _, d := range got.DeletedBy {
			in += d.Files
		}
		if in != c.in || len(got.DeletedBy) != c.way {
			t.Errorf("%q: %+v, want %d files in %d ways", c.want, got.DeletedBy, c.in, c.way)
		}
	}
	s.TrackRows(0)
	if got := Of(s); !got.RowIDs || !strings.HasSuffix(got.String(), " in 2 files; rows have ids, in the column _row_id") {
		t.Errorf("a table with row ids is %s", got)
	}
}
