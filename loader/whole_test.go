package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// Features take whole columns, and the error about a member says so.
func TestFeaturesOfMembers(t *testing.T) {
	number := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Fixed, Type: column.TypeInt32, Width: 4}
	}
	point := func(name string) *column.Field {
		return &column.Field{Name: name, Kind: column.Struct, Children: []*column.Field{number("x"), number("y")}}
	}
	s := &column.Schema{Fields: []*column.Field{
		number("id"), point("point"), {Name: "points", Kind: column.List, Children: []*column.Field{point("element")}},
	}}
	for name, root := range map[string]string{"point.x": "point", "point.*": "point", "p*.y": "point", "points.x": "points", "*s.x": "points", "point.z": "", "id.x": "", "nope": "", "n*.x": ""} {
		for field, f := range map[string]Features{
			`Cast["` + name + `"]`: {Cast: map[string]DType{name: {Type: column.TypeInt8}}}, `Hash["` + name + `"]`: {Hash: map[string]int64{name: 4}},
			`Scale["` + name + `"]`: {Scale: map[string]Scale{name: {0, 1}}}, `Stack["m"]`: {Stack: []Stack{{Name: "m", Columns: []string{name}}}},
		} {
			_, err := Options{Features: f}.Shape(s)
			about := err != nil && strings.Contains(err.Error(), fmt.Sprintf("it names a member of column %q, and features are of whole columns", root))
			if err == nil || !strings.HasPrefix(err.Error(), field) || about != (root != "") {
				t.Errorf("%s of %q: error %v", field, name, err)
			}
		}
	}
}
