package tables

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// CheckColumns refuses names and rule columns that are unreadable in the table. If names is nil,
// all columns are read, and it notes the unreadable ones, which are left out.
func CheckColumns(t *table.Snapshot, addresses, names []string, rule []rowgroup.RuleColumn, noted func(text string)) error {
	if t == nil {
		return nil
	}
	rowID := func(c rowgroup.RuleColumn) bool { return c.Path == table.RowID }
	if !t.HasRowIDs() && (slices.Contains(names, table.RowID) || slices.ContainsFunc(rule, rowID)) {
		return &shard.Error{
			Op: "table", URI: addresses[0], Err: fmt.Errorf("the table does not track rows, so that it has no column %q", table.RowID),
			Hint: "set Delta's delta.enableRowTracking, or use format version 3 of Iceberg, or leave the column out",
		}
	}
	for _, u := range t.Unreadable {
		named := func(name string) bool {
			return name == u.Column || column.MatchesName(name, u.Column) || strings.HasPrefix(name, u.Column+".")
		}
		chooses := func(c rowgroup.RuleColumn) bool { return named(c.Path) }
		if slices.ContainsFunc(names, named) || slices.ContainsFunc(rule, chooses) {
			return &shard.Error{Op: "table", URI: addresses[0], Err: errors.New(u.String()), Hint: "leave the column out"}
		}
		if names == nil && noted != nil {
			noted(u.String() + ", and is left out")
		}
	}
	return nil
}
