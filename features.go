package shardfeed

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Stack is the columns of a matrix. In JSON a list of names and patterns is a Stack of these
// Columns.
type Stack struct {
	Columns []string        `json:"columns"`
	DType   string          `json:"dtype,omitempty"` // of all features; "" is "float32"
	Null    json.RawMessage `json:"null,omitempty"`  // what stands in place of nulls: JSON; nil is NaN in floats, else 0
	Keep    []string        `json:"keep,omitempty"`  // names and patterns of columns that stay in the batch too
}

// UnmarshalJSON takes a list of columns too.
func (s *Stack) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		*s = Stack{}
		return json.Unmarshal(b, &s.Columns)
	}
	type plain Stack
	return json.Unmarshal(b, (*plain)(s))
}

// features are the loader's features, and all that is wrong with the fields that say them.
func (s Spec) features(p *option.List) loader.Features {
	var f loader.Features
	for _, name := range sortedKeys(s.Cast) {
		t, err := loader.ParseType(s.Cast[name])
		if err != nil {
			p.Add(fmt.Sprintf("Cast[%q]", name), "%v", err)
			continue
		}
		set(&f.Cast, name, t)
	}
	f.Hash = s.Hash
	for _, name := range sortedKeys(s.Scale) {
		if n := len(s.Scale[name]); n != 2 {
			p.Add(fmt.Sprintf("Scale[%q]", name), "must be a mean and a deviation, got %s", plural(n, "number"))
			continue
		}
		set(&f.Scale, name, loader.Scale{Mean: s.Scale[name][0], Deviation: s.Scale[name][1]})
	}
	for _, name := range sortedKeys(s.Stack) {
		f.Stack = append(f.Stack, s.Stack[name].bind(p, name))
	}
	return f
}

func (s Stack) bind(p *option.List, name string) loader.Stack {
	out := loader.Stack{Name: name, Columns: s.Columns, Keep: s.Keep}
	field := fmt.Sprintf("Stack[%q]", name)
	var err error
	if s.DType != "" {
		if out.Type, err = loader.ParseNumberType(s.DType); err != nil {
			p.Add(field, "dtype %v", err)
		}
	}
	if out.Null, err = parseValue(s.Null); err != nil {
		p.Add(field, "must have a null that is a number, a boolean or {\"base64\": ...}, got %s", s.Null)
	}
	return out
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// read are the columns to read: those of matrices too, where Columns chooses some.
func (s Spec) read() []string {
	if s.Columns == nil {
		return nil
	}
	all := slices.Clone(s.Columns)
	for _, name := range sortedKeys(s.Stack) {
		for _, c := range s.Stack[name].Columns {
			made := s.RowIDs && (c == "_row" || c == "source") // columns that no shard has
			if c != "" && !made && !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// blameStack says of columns that do not exist which matrix has them, where Columns does not.
func (s Spec) blameStack(err error) error {
	var e *rowgroup.Error
	if !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	var hints []string
	for _, column := range rowgroup.MissingColumns(err) {
		for _, name := range sortedKeys(s.Stack) {
			if slices.Contains(s.Stack[name].Columns, column) && !slices.Contains(s.Columns, column) {
				hints = append(hints, fmt.Sprintf("the stack %q has %q among its columns", name, column))
			}
		}
	}
	e.Hint = strings.Join(hints, "; ")
	return err
}

// Shape is how batches are made of the data set's columns, as Cast, Hash, Scale and Stack say.
func (d *Dataset) Shape() (*loader.Shape, error) {
	return d.spec.LoaderOptions().Shape(d.Schema())
}
