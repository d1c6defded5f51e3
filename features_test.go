package shardfeed

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
)

// What a spec says of features reaches the loader's options and the columns that are read.
func TestSpecFeatures(t *testing.T) {
	var s Spec
	err := json.Unmarshal([]byte(`{"addresses": ["a"], "columns": ["label", "a"], "cast": {"label": "bfloat16"}, "hash": {"user": 5},
		"scale": {"price": [1.5, 2]}, "stack": {"y": ["a", "num_*"], "x": {"columns": ["b"], "dtype": "float64", "null": "NaN", "keep": ["*"]}}}`), &s)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	f := s.LoaderOptions().Features
	if f.Stack[0].Null != "NaN" {
		t.Errorf("null is %v", f.Stack[0].Null)
	}
	f.Stack[0].Null = nil
	want := loader.Features{
		Cast: map[string]loader.DType{"label": {Type: column.TypeBFloat16}}, Hash: map[string]int64{"user": 5}, Scale: map[string]loader.Scale{"price": {Mean: 1.5, Deviation: 2}},
		Stack: []loader.Stack{{Name: "x", Columns: []string{"b"}, Type: column.TypeFloat64, Keep: []string{"*"}}, {Name: "y", Columns: []string{"a", "num_*"}}},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
	if got := s.Reading().Columns; !reflect.DeepEqual(got, []string{"label", "a", "b", "num_*"}) {
		t.Errorf("it reads %q", got)
	}
	s.Columns = nil
	if got := s.Reading().Columns; got != nil {
		t.Errorf("it reads %q", got)
	}
}

// All that is wrong is in one error, in the words of the caller.
func TestSpecFeaturesRefused(t *testing.T) {
	s := Spec{
		Addresses: []string{"a"}, Features: Features{
			Cast: map[string]string{"label": "int33"}, Hash: map[string]int64{"user": 0}, Scale: map[string][]float64{"p": {1}},
			Stack: map[string]Stack{"x": {DType: "f4"}},
		},
	}
	const numbers = "float32, float16, bfloat16, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
	const types = numbers + ", bool, datetime64[ms], datetime64[us] or datetime64[ns]"
	want := []string{
		`cast["label"] must be ` + types + `, got "int33"`,
		`scale["p"] must be a mean and a deviation, got 1 number`,
		`stack["x"] dtype must be ` + numbers + ` or bool, got "f4"`,
		`hash["user"] must be at least 1 bucket, got 0`,
		`stack["x"] must name at least one column`,
	}
	if got := option.Spelled(s.Validate(), option.Argument); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A column of a stack alone that does not exist is the stack's.
func TestStackOfMissingColumns(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	stack := map[string]Stack{"x": {Columns: []string{"num_*", "price"}}}
	for _, c := range []struct {
		name    string
		columns []string
		hint    bool
	}{
		{"beside columns", []string{"price"}, true},
		{"among columns too", []string{"price", "num_*"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(t.Context(), Spec{Addresses: []string{shop}, Columns: c.columns, Features: Features{Stack: stack}}, Events{})
			if err == nil {
				_ = d.Close(t.Context())
				t.Fatal("no error")
			}
			text := err.Error()
			if !strings.Contains(text, `there is no column "num_*"`) || strings.Contains(text, `(the stack "x" has "num_*" among its columns)`) != c.hint {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Ranks that make other batches of the same rows differ in what they chose.
func TestChosenFeatures(t *testing.T) {
	seen := map[string]Spec{}
	for _, s := range []Spec{
		{},
		{Features: Features{Cast: map[string]string{"a": "int8"}}},
		{Features: Features{Cast: map[string]string{"a": "int16"}}},
		{Features: Features{Hash: map[string]int64{"a": 3}}},
		{Features: Features{Scale: map[string][]float64{"a": {1, 2}}}},
		{Features: Features{Stack: map[string]Stack{"x": {Columns: []string{"a"}}}}},
		{Features: Features{Stack: map[string]Stack{"x": {Columns: []string{"a"}, DType: "int8"}}}},
	} {
		text, err := json.Marshal((&Dataset{spec: s}).Chosen())
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[string(text)]; twice {
			t.Errorf("%+v and %+v are both %s", before, s, text)
		}
		seen[string(text)] = s
	}
}
