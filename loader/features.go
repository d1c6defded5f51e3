package loader

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Features say what becomes of the values of columns on their way into batches. Columns are named,
// or matched by a pattern as in "num_*", where * stands for any characters, ? for one and [ab] for
// one of these; a name wins over a pattern.
//
// Cast, Hash and Scale change a column of fixed values, or the items of lists of them. A value that
// the new type does not hold ends the iteration: the error names the shard, the row group, the
// column and the value. Integers become floats, and wide floats narrow ones, by rounding to the
// nearest; floats become integers by truncation, as torch does both.
type Features struct {
	// Cast is the new type: an integer, a bool or a float, bfloat16 included.
	Cast map[string]column.Type

	// Hash gives a value the number of its bucket, of so many: the hash that package rule describes,
	// with salt 0, modulo the buckets. It is an int64 unless Cast says otherwise. Texts and binary
	// values can be hashed too.
	Hash map[string]int64

	// Scale subtracts a mean and divides by a deviation, in float64, and rounds once: to float64 in
	// columns of that, to the type of Cast, else to float32.
	Scale map[string]Scale

	// Stack makes matrices of columns.
	Stack []Stack
}

// A Scale is the mean and the deviation of a column.
type Scale struct{ Mean, Deviation float64 }

// A Stack is columns that become one: a matrix of shape [rows, features], row by row, made in one
// pass over the rows. Its features are its columns in the schema's order, which Field.Features
// names; a column of lists of one size has a feature for each item. Hash and Scale apply to its
// columns, which leave the batch.
type Stack struct {
	Name    string
	Columns []string    // names and patterns
	Type    column.Type // of all features; TypeNone means TypeFloat32

	// Null stands in place of nulls, as in Fill; a Fill of the column wins. Without either that is
	// NaN in floats under Options.NaN, else zero.
	Null any

	Keep []string // names and patterns of columns that stay in the batch too
}

// types are those of casts by their names, of which torch's and numpy's come first.
var types = map[string]column.Type{
	"bool": column.TypeBool, "int8": column.TypeInt8, "int16": column.TypeInt16, "int32": column.TypeInt32, "int64": column.TypeInt64,
	"uint8": column.TypeUint8, "uint16": column.TypeUint16, "uint32": column.TypeUint32, "uint64": column.TypeUint64,
	"float16": column.TypeFloat16, "bfloat16": column.TypeBFloat16, "float32": column.TypeFloat32, "float64": column.TypeFloat64,
}

// typeNames are the names that ParseType takes, the most wanted first.
var typeNames = []string{
	"float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
}

// ParseType is the type of a cast by its name.
func ParseType(name string) (column.Type, error) {
	if t, ok := types[name]; ok {
		return t, nil
	}
	return column.TypeNone, fmt.Errorf("must be %s or %s, got %q", strings.Join(typeNames[:len(typeNames)-1], ", "), typeNames[len(typeNames)-1], name)
}

// isPattern reports whether a name of Features may stand for several columns.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// validate notes what is wrong with the features whatever the columns are.
func (f Features) validate(p *option.List) {
	for _, name := range sortedKeys(f.Hash) {
		if n := f.Hash[name]; n < 1 {
			p.Add(fmt.Sprintf("Hash[%q]", name), "must be at least 1 bucket, got %d", n)
		}
	}
	for _, name := range sortedKeys(f.Scale) {
		s := f.Scale[name]
		if s.Mean-s.Mean != 0 {
			p.Add(fmt.Sprintf("Scale[%q]", name), "must have a finite mean, got %v", s.Mean)
		}
		if !(s.Deviation > 0) || math.IsInf(s.Deviation, 1) {
			p.Add(fmt.Sprintf("Scale[%q]", name), "must have a deviation above 0, got %v", s.Deviation)
		}
	}
	for _, names := range []struct {
		field string
		all   []string
	}{{"Cast", sortedKeys(f.Cast)}, {"Hash", sortedKeys(f.Hash)}, {"Scale", sortedKeys(f.Scale)}} {
		for _, name := range names.all {
			checkPattern(p, fmt.Sprintf("%s[%q]", names.field, name), name)
		}
	}
	seen := map[string]bool{}
	for _, s := range f.Stack {
		s.validate(p, seen)
	}
}

func (s Stack) validate(p *option.List, seen map[string]bool) {
	field := fmt.Sprintf("Stack[%q]", s.Name)
	switch {
	case s.Name == "":
		p.Add(field, "must have a name, which is that of the matrix in the batch")
	case seen[s.Name]:
		p.Add(field, "must not be there twice")
	}
	seen[s.Name] = true
	if len(s.Columns) == 0 {
		p.Add(field, "must name at least one column")
	}
	for _, name := range slices.Concat(s.Columns, s.Keep) {
		checkPattern(p, field, name)
	}
}

func checkPattern(p *option.List, field, name string) {
	if name == "" {
		p.Add(field, "must name columns, got an empty name")
	} else if _, err := path.Match(name, ""); err != nil {
		p.Add(field, "must be a name or a pattern with *, ? and [ab], got %q", name)
	}
}

var errMany = errors.New("the schema has more than one column of that name")

// matches are the columns that a name or a pattern stands for, in order. Patterns leave out columns
// that no shard holds.
func matches(s *column.Schema, name string) (at []int, err error) {
	for i, f := range s.Fields {
		if f.Name == name && name != "" {
			at = append(at, i)
		}
	}
	if len(at) > 1 {
		return nil, errMany
	}
	if len(at) == 1 {
		return at, nil
	}
	if !isPattern(name) {
		return nil, errors.New("no such column is read")
	}
	flat := strings.NewReplacer("/", "\x00").Replace // which a pattern takes for a separator
	for i, f := range s.Fields {
		if ok, err := path.Match(flat(name), flat(f.Name)); ok && err == nil && !f.Made {
			at = append(at, i)
		}
	}
	if at == nil {
		return nil, errors.New("no column that is read matches it")
	}
	for _, i := range at {
		if slices.IndexFunc(s.Fields, func(f *column.Field) bool { return f.Name == s.Fields[i].Name }) != i {
			return nil, errMany
		}
	}
	return at, nil
}
