package rule

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// near suggests the columns most similar to an unknown one, for a message.
func near(s *column.Schema, name string) string {
	var top []string
	for _, f := range s.Fields {
		top = append(top, f.Name)
	}
	return option.Near(name, paths(s.Fields, ""), top)
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
