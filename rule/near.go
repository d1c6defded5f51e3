package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

const (
	nearNames  = 3   // suggested for an unknown one
	nearLength = 200 // of a name or a list of names
)

// near says which columns are most like an unknown one, for a message.
func near(s *column.Schema, name string) string {
	type match struct {
		name string
		far  int
	}
	var all []match
	var top []string
	for path := range paths(s.Fields, "") {
		if d := distance(path, name); d <= max(2, len(name)/3) {
			all = append(all, match{path, d})
		}
	}
	for _, f := range s.Fields {
		top = append(top, fmt.Sprintf("%q", f.Name))
	}
	if len(all) == 0 {
		if text := strings.Join(top, ", "); len(text) <= nearLength {
			return "; there is " + text
		}
		return fmt.Sprintf("; there are %d others", len(top))
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Compare(a.far, b.far) })
	quoted := make([]string, 0, nearNames)
	for _, m := range all[:min(len(all), nearNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", m.name))
	}
	return "; there is " + strings.Join(quoted, ", ")
}

// paths yields the dotted names of columns and of the members of structs.
func paths(fields []*column.Field, above string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range fields {
			if !yield(above + f.Name) {
				return
			}
			if f.Kind != column.Struct {
				continue
			}
			for p := range paths(f.Children, above+f.Name+".") {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// distance is the edit distance of two names, case apart; names of very different length are just
// far.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if d := len(a) - len(b); d > 8 || d < -8 || len(a) > nearLength || len(b) > nearLength {
		return nearLength
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
