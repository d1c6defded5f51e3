package tables

import (
	"errors"
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
