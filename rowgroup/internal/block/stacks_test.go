package block

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// Only matrices of single fixed values are made, and only when a column leaves for one.
func TestNewStacks(t *testing.T) {
	i64 := &column.Field{Name: "a", Type: column.TypeInt64, Width: 8}
	schema := &column.Schema{Fields: []*column.Field{i64, i64, {Kind: column.Binary, Type: column.TypeString}, {Kind: column.List, ListSize: 2, Children: []*column.Field{i64}}}}
	number, err := NewCaster(i64, Cast{To: column.TypeFloat32})
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(members ...Member) *Matrix {
		for i := range members {
			members[i].Caster = number
		}
		return &Matrix{Members: members}
	}
	one, two := matrix(Member{Column: 0}), matrix(Member{Column: 0}, Member{Column: 1})
	list, word := matrix(Member{Column: 3, Items: 2}, Member{Column: 1}), matrix(Member{Column: 2})
	for _, c := range []struct {
		name     string
		matrices []*Matrix
		used     []bool
		made     int // matrices
		dropped  string
	}{
		{"two columns", []*Matrix{two}, []bool{3: false}, 1, "[true true false false]"},
		{"one is kept", []*Matrix{two}, []bool{true, 3: false}, 1, "[false true false false]"},
		{"all are kept", []*Matrix{one}, []bool{true, 3: false}, 0, ""},
		{"two matrices", []*Matrix{one, two}, []bool{3: true}, 2, "[true true false false]"},
		{"a list needs its columns", []*Matrix{list, two}, []bool{3: false}, 1, "[true false false false]"},
		{"a vocabulary's numbers", []*Matrix{word}, []bool{3: false}, 0, ""},
		{"no matrix", nil, []bool{3: false}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewStacks(schema, c.matrices, c.used)
			if s == nil {
				s = &Stacks{}
			}
			if got := fmt.Sprint(s.dropped); len(s.matrices) != c.made || c.made > 0 && got != c.dropped {
				t.Errorf("%d matrices, dropped %s; want %d, %s", len(s.matrices), got, c.made, c.dropped)
			}
		})
	}
}
