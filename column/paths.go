package column

import (
	"iter"
	"slices"
)

// Paths yields the dotted names of columns and of the members of structs.
func Paths(fields []*Field) iter.Seq[string] {
	return func(yield func(string) bool) { paths(fields, "", yield) }
}

func paths(fields []*Field, above string, yield func(string) bool) bool {
	for _, f := range fields {
		if !yield(above+f.Name) || f.Kind == Struct && !paths(f.Children, above+f.Name+".", yield) {
			return false
		}
	}
	return true
}

// Names returns the names of columns, each once, without empty ones.
func Names(fields []*Field) (names []string) {
	for _, f := range fields {
		if f.Name != "" && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}
