package snapshot

import (
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
	got, want := Of(s), "Iceberg u-1, snapshot 7 of 2026-01-31T12:00:00Z; 2 rows deleted in 1 file and left out"
	if got.String() != want || got.Deleted != 2 || got.Files != 1 {
		t.Errorf("got %q, want %q: %+v", got, want, got)
	}
}
