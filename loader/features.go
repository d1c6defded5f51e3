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

// Features transform the values of columns on their way into batches. Columns are named, or matched
// by a pattern as in "num_*", where * stands for any characters, ? for one and [ab] for one of
// these; a name wins over a pattern.
//
// Cast, Hash and Scale change a column of fixed values, or the items of lists of them. A value that
// the new type cannot represent ends the iteration: the error names the shard, the row group, the
// column and the value. Integers become floats, and wide floats narrow ones, by rounding to the
// nearest; floats become integers by truncation, as torch does both.
type Features struct {
	// Cast is the new type: an integer, a bool, a float, bfloat16 included, or the unit of a
	// timestamp, which dates and timestamps may become.
	Cast map[string]DType

	// Hash gives a value the number of its bucket: the hash that package rule describes, with salt
	// 0, modulo the buckets. It is an int64 unless Cast says otherwise. Texts and binary values can
	// be hashed too.
	Hash map[string]int64

	// Scale subtracts a mean and divides by a deviation, in float64, and rounds once: to float64
	// for float64 columns, to the type of Cast, else to float32.
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

	// Null replaces nulls, as in Fill; a Fill of the column wins. The default is NaN in floats
	// under Options.NaN, else zero.
	Null any

	Keep []string // names and patterns of columns that stay in the batch too
}

// A DType is the type of a cast.
type DType struct {
	column.Type
	Unit column.Unit // of TypeTimestamp
}

type namedDType struct {
	name string
	DType
}

// dtypes lists the types of casts under the names of torch and numpy, the most common first and
// timestamps last.
var dtypes = []namedDType{
	{"float32", DType{Type: column.TypeFloat32}},
	{"float16", DType{Type: column.TypeFloat16}},
	{"bfloat16", DType{Type: column.TypeBFloat16}},
	{"float64", DType{Type: column.TypeFloat64}},
	{"int8", DType{Type: column.TypeInt8}},
	{"int16", DType{Type: column.TypeInt16}},
	{"int32", DType{Type: column.TypeInt32}},
	{"int64", DType{Type: column.TypeInt64}},
	{"uint8", DType{Type: column.TypeUint8}},
	{"uint16", DType{Type: column.TypeUint16}},
	{"uint32", DType{Type: column.TypeUint32}},
	{"uint64", DType{Type: column.TypeUint64}},
	{"bool", DType{Type: column.TypeBool}},
	{"datetime64[ms]", DType{column.TypeTimestamp, column.Milli}},
	{"datetime64[us]", DType{column.TypeTimestamp, column.Micro}},
	{"datetime64[ns]", DType{column.TypeTimestamp, column.Nano}},
}

// ParseType returns the type of a cast by its name.
func ParseType(name string) (DType, error) { return parseType(name, len(dtypes)) }

// ParseNumberType returns the type of a matrix by its name.
func ParseNumberType(name string) (column.Type, error) {
	t, err := parseType(name, slices.IndexFunc(dtypes, func(t namedDType) bool { return t.Type == column.TypeTimestamp }))
	return t.Type, err
}

// parseType finds a name among the first n of dtypes.
func parseType(name string, n int) (DType, error) {
	names := make([]string, n)
	for i, t := range dtypes[:n] {
		if names[i] = t.name; name == t.name {
			return t.DType, nil
		}
	}
	return DType{}, fmt.Errorf("must be %s or %s, got %q", strings.Join(names[:n-1], ", "), names[n-1], name)
}

// validate reports problems that do not depend on the columns.
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
	if s.Type == column.TypeTimestamp {
		p.Add(field, "must have a dtype that is a number's, got %v", s.Type)
	}
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

// notRead is the error of a name that no column has.
func notRead(name string, fields []*column.Field) error {
	return errors.New("no such column is read" + option.Near(name, column.Paths(fields), column.Names(fields)))
}

// matches returns the columns that match a name or a pattern, in order. Patterns leave out columns
// that no shard has.
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
	if !column.IsPattern(name) {
		return nil, notRead(name, s.Fields)
	}
	for i, f := range s.Fields {
		if column.MatchesName(name, f.Name) && !f.Made {
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

// Named returns the value given for a column, by its name or else by a pattern.
func Named[V any](given map[string]V, name string) (value V, ok bool) {
	if value, ok = given[name]; ok {
		return value, true
	}
	for _, pattern := range sortedKeys(given) {
		if column.MatchesName(pattern, name) {
			return given[pattern], true
		}
	}
	return value, false
}

// Names reports whether a column is among the given names and patterns.
func Names(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p == name || column.MatchesName(p, name) })
}
