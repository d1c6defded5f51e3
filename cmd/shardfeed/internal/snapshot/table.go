package snapshot

import (
	"fmt"
	"strings"
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

	DeletedBy []Deleted `json:"deleted_by"` // how the rows are deleted; empty if a plan does not have it
	RowIDs    bool      `json:"row_ids"`    // the table tracks rows: its column _row_id has their ids
}

// Deleted is the rows that are deleted in one way. A row that is deleted in two counts once.
type Deleted struct {
	By    string `json:"by"`    // deletion vectors, position deletes or equality deletes
	Rows  int64  `json:"rows"`  // that are deleted so
	Files int    `json:"files"` // that have such rows
}

// Of describes a snapshot; nil for no table.
func Of(s *table.Snapshot) *Table {
	if s == nil {
		return nil
	}
	t := &Table{Format: s.Format, ID: s.Table, Snapshot: s.Name, DeletedBy: []Deleted{}, RowIDs: s.TracksRows()}
	if !s.Time.IsZero() {
		t.Time = s.Time.UTC().Format(time.RFC3339)
	}
	var by [table.Deletions]Deleted
	for i := range s.Files {
		if n := s.Files[i].Deleted.Len(); n > 0 {
			t.Deleted += n
			t.Files++
		}
		for d, n := range s.Files[i].DeletedBy {
			if n > 0 {
				by[d].Rows += n
				by[d].Files++
			}
		}
	}
	for d := range by {
		if by[d].Rows > 0 {
			by[d].By = table.Deletion(d).String()
			t.DeletedBy = append(t.DeletedBy, by[d])
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
		all += fmt.Sprintf("; %s deleted in %s and left out", text.Plural(t.Deleted, "row"), text.Plural(t.Files, "file")) + t.how()
	}
	if t.RowIDs {
		all += "; rows have ids, in the column " + table.RowID
	}
	return all
}

// how is the ways in which rows are deleted, with numbers if there are several.
func (t *Table) how() string {
	if len(t.DeletedBy) == 1 {
		return ", by " + t.DeletedBy[0].By
	}
	var all []string
	for _, d := range t.DeletedBy {
		all = append(all, fmt.Sprintf("%s by %s in %s", text.Count(d.Rows), d.By, text.Plural(d.Files, "file")))
	}
	if all == nil {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}
