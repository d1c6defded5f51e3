package loader

import "github.com/shardfeed/shardfeed/column"

// expandFills gives each column, or member of a struct, that a pattern matches a fill of its own; a
// name wins.
func expandFills(s *column.Schema, fills []Fill) (all []Fill) {
	named := map[string]bool{}
	for _, f := range fills {
		named[f.Column] = true
	}
	for _, f := range fills {
		names := filled(s, f.Column)
		if names == nil {
			all = append(all, f)
		}
		for _, name := range names {
			if !named[name] || name == f.Column {
				named[name] = true
				all = append(all, Fill{Column: name, Value: f.Value})
			}
		}
	}
	return all
}

// filled lists the paths that match a pattern, or nil.
func filled(s *column.Schema, pattern string) (names []string) {
	if !column.IsPattern(pattern) {
		return nil
	}
	if at, err := matches(s, pattern); err == nil {
		for _, i := range at {
			names = append(names, s.Fields[i].Name)
		}
		return names
	}
	for _, p := range column.Match(placed("", s.Fields), pattern, place.members) {
		names = append(names, p.path)
	}
	return names
}

// A place is a field at a dotted path.
type place struct {
	path  string
	field *column.Field
}

func placed(above string, fields []*column.Field) (all []place) {
	for _, f := range fields {
		if !f.Made {
			all = append(all, place{above + f.Name, f})
		}
	}
	return all
}

// members returns the members of a struct, or of the structs in a list.
func (p place) members() (name string, all []place) {
	f, path := p.field, p.path
	for f.Kind == column.List && len(f.Children) == 1 {
		f = f.Children[0]
		path += "." + f.Name
	}
	if f.Kind == column.Struct {
		all = placed(path+".", f.Children)
	}
	return p.field.Name, all
}
