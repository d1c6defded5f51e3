package snapshot

import (
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/table"
)

// A Table is the snapshot of a table, as verbs print it.
type Table struct {
	Format   string `json:"format"`   // Delta, Iceberg or Hive
	ID       string `json:"id"`       // of the table, which copies of it share
	Snapshot string `json:"snapshot"` // as --snapshot takes it
	Time     string `json:"time"`     // of the commit, in RFC 3339; "" if the table does not have it
	Deleted  int64  `json:"deleted"`  // rows of its files that are deleted and left out
	Files    int    `json:"files"`    // that have such rows
}

// Of describes a snapshot; nil for no table.
func Of(s *table.Snapshot) *Table {
	if s == nil {
		return nil
	}
	t := &Table{Format: s.Format, ID: s.Table, Snapshot: s.Name}
	if !s.Time.IsZero() {
		t.Time = s.Time.UTC().Format(time.RFC3339)
	}
	for i := range s.Files {
		if n := s.Files[i].Deleted.Len(); n > 0 {
			t.Deleted += n
			t.Files++
		}
	}
	return t
}

func (t *Table) String() string {
	all := fmt.Sprintf("%s %s, snapshot %s", t.Format, t.ID, t.Snapshot)
	if t.Time != "" {
		all += " of " + t.Time
	}
	if t.Deleted > 0 {
		all += fmt.Sprintf("; %s deleted in %s and left out", text.Plural(t.Deleted, "row"), text.Plural(int64(t.Files), "file"))
	}
	return all
}
