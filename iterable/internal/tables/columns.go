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
	for _, name := range named(names, rule) {
		if err := t.CheckRowIDs(addresses[0], name); err != nil {
			return err
		}
	}
	for _, u := range t.Unreadable {
		of := func(name string) bool {
			return name == u.Column || column.MatchesName(name, u.Column) || strings.HasPrefix(name, u.Column+".")
		}
		if slices.ContainsFunc(named(names, rule), of) {
			return &shard.Error{Op: "table", URI: addresses[0], Err: errors.New(u.String()), Hint: "leave the column out"}
		}
		if names == nil && noted != nil {
			noted(u.String() + ", and is left out")
		}
	}
	return nil
}

// named lists the names of columns and of rule columns.
func named(names []string, rule []rowgroup.RuleColumn) []string {
	all := slices.Clip(names)
	for _, c := range rule {
		all = append(all, c.Path)
	}
	return all
}
