package loader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// wholeColumns finds the columns of a name or a pattern for options that change whole columns. If
// the name is a member's, the error mentions it.
func wholeColumns(s *column.Schema, name string) (at []int, err error) {
	if at, err = matches(s, name); err == nil {
		return at, nil
	}
	member := memberOf(s, name)
	i := slices.IndexFunc(s.Fields, func(f *column.Field) bool { return strings.HasPrefix(member, f.Name+".") })
	if i < 0 {
		return nil, err
	}
	return nil, fmt.Errorf("it names a member of column %q, and features are of whole columns; write the member as a column of its own, or change it in a map function", s.Fields[i].Name)
}

// memberOf returns the path of the first member that matches a name or a pattern, or "".
func memberOf(s *column.Schema, name string) string {
	all := placed("", s.Fields)
	if found := column.Match(all, name, place.members); len(found) > 0 {
		return found[0].path
	}
	found, _ := column.Find(all, name, func(p place) (*column.Field, []place) {
		_, members := p.members()
		return p.field, members
	})
	return found.path
}
