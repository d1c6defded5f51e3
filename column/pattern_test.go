package column

import (
	"fmt"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	leaf := func(name string) *Field { return &Field{Name: name, Kind: Fixed, Type: TypeInt32, Width: 4} }
	fields := []*Field{
		leaf("f_a"), leaf("f_b"), leaf("x/y"), leaf("dotted.name"),
		{Name: "meta", Kind: Struct, Children: []*Field{leaf("f_a"), leaf("g"), {Name: "in", Kind: Struct, Children: []*Field{leaf("f_a"), leaf("f.c")}}}},
		{Name: "f_s", Kind: Struct, Children: []*Field{leaf("f_a")}},
	}
	for pattern, want := range map[string]string{
		"f_*": "f_a f_b f_s", "*": "f_a f_b x/y dotted.name meta f_s", "x*": "x/y", "f_[ab]": "f_a f_b", "f_?": "f_a f_b f_s",
		"d*": "dotted.name", "dotted.*": "dotted.name", "meta.*": "f_a g in", "meta.f_*": "f_a", "m*.g": "g", "*.f_a": "f_a f_a", "*.in.f*": "f_a f.c",
		"meta.in.*": "f_a f.c", "meta.in.f.*": "f.c", "meta.h*": "", "z*": "", "f_a": "", "meta.f_a.*": "", "[": "",
	} {
		var names []string
		for _, f := range Match(fields, pattern, func(f *Field) (string, []*Field) { return f.Name, f.Children }) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
	if fmt.Sprint(MatchesName("a*", "a.b/c"), MatchesName("a", "a"), IsPattern("a.b")) != "true false false" {
		t.Error("names")
	}
}
