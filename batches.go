package shardfeed

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// LoaderOptions are how package loader makes the batches of the spec, without what depends on the
// rank and its epoch. The spec is valid. JPEGs are decoded in Go: package images/turbo has the
// quicker decoder for ImageDecoder, which a program that does not want it need not link.
func (s Spec) LoaderOptions() loader.Options {
	o := loader.Options{BatchSize: max(1, s.BatchSize), Tail: shuffle.Tail(s.Tail), Workers: s.Workers, NaN: true, Seeds: s.Seeds, Packed: s.Pack.packed()}
	o.LocalWorldSize = cmp.Or(s.LocalWorldSize, mem.LocalWorldSize())
	if o.Workers == 0 {
		ranks := max(1, s.LocalWorldSize)
		o.Workers = max(1, (cores.Number()+ranks-1)/ranks)
	}
	valid := option.List{New: newOptionError}
	o.Features, o.Fill, o.Pad = s.features(&valid), s.fills(&valid), s.pads(&valid)
	o.Boxes = s.Boxes
	if o.Images, o.ImageDecoder = s.Images, s.decoder(); len(o.Images) > 0 {
		o.ImageParallel = o.Workers // also where large batches leave memory for fewer workers
	}
	return o
}

// fills returns the values in place of nulls, and notes wrong ones.
func (s Spec) fills(p *option.List) (all []loader.Fill) {
	for _, column := range sortedKeys(s.Null) {
		value, err := parseValue(s.Null[column])
		if err != nil || value == nil {
			p.Add(fmt.Sprintf("Null[%q]", column), "must be a number, a boolean, a text or {\"base64\": ...}, got %s", s.Null[column])
		}
		all = append(all, loader.Fill{Column: column, Value: value})
	}
	return all
}

// pads returns the paddings of the loader, and notes problems.
func (s Spec) pads(p *option.List) (all []loader.Padding) {
	seen := map[string]bool{}
	for _, pad := range s.Pad {
		at := func(field string) string { return fmt.Sprintf("Pad[%q].%s", pad.Column, field) }
		switch {
		case pad.Column == "":
			p.Add(at("Column"), "must not be empty")
		case seen[pad.Column]:
			p.Add(at("Column"), "must not be there twice")
		}
		seen[pad.Column] = true
		to := loader.Padding{Column: pad.Column, Max: pad.MaxLength, ToMax: pad.ToMax, Multiple: pad.Multiple, Left: pad.Left, CutLeft: pad.CutLeft}
		for _, w := range pad.Within {
			to.Within = append(to.Within, loader.PadSize{Max: w.MaxLength, Multiple: w.Multiple})
		}
		for _, size := range append([]PadWithin{{pad.MaxLength, pad.Multiple}}, pad.Within...) {
			p.Within(at("MaxLength"), int64(size.MaxLength), option.MaxBatchRows)
			p.Within(at("Multiple"), int64(size.Multiple), option.MaxBatchRows)
		}
		var err error
		if to.Value, err = parseValue(pad.Value); err != nil {
			p.Add(at("Value"), "must be a number, a boolean or {\"base64\": ...}, got %s", pad.Value)
		}
		all = append(all, to)
	}
	return all
}

// parseValue reads a value in JSON as the loader takes it: a number, a boolean, a text, or the
// bytes of {"base64": "..."}.
func parseValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return v.Float64()
	case map[string]any:
		if text, ok := v["base64"].(string); ok && len(v) == 1 {
			return base64.StdEncoding.DecodeString(text)
		}
	}
	return nil, errors.New("a value must be a number, a boolean, a text or bytes")
}

// A Stack is the columns of a matrix. In JSON a list of names and patterns is a Stack of these
// Columns.
type Stack struct {
	Columns []string        `json:"columns"`
	DType   string          `json:"dtype,omitempty"` // of all features; "" is "float32"
	Null    json.RawMessage `json:"null,omitempty"`  // replaces nulls: JSON; nil is NaN in floats, else 0
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
			p.Add(fmt.Sprintf("Scale[%q]", name), "must be a mean and a deviation, got %s", text.Plural(n, "number"))
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

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// read returns the columns to read: if Columns chooses some, with the columns of matrices and the
// files of results.
func (s Spec) read() []string {
	if s.Columns == nil {
		return nil
	}
	all := slices.Clone(s.Columns)
	for _, name := range sortedKeys(s.Images) {
		if of := s.Images[name].Of; of != "" && !chooses(all, of) {
			all = append(all, of)
		}
	}
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

// chooses reports whether columns, or patterns of them, have a column or a member of a struct.
func chooses(columns []string, path string) bool {
	return slices.ContainsFunc(columns, func(c string) bool {
		return c == path || strings.HasPrefix(path, c+".") || column.MatchesName(c, path)
	})
}

// blame says of columns that do not exist which option names them, where Columns does not.
func (s Spec) blame(err error) error {
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
		for _, name := range sortedKeys(s.Images) {
			if s.Images[name].Of == column && !slices.Contains(s.Columns, column) {
				hints = append(hints, fmt.Sprintf("the image %q is of column %q", name, column))
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

// The decoders of images, by the names that ImageDecoder has for them.
const (
	AutoDecoder  = "auto"
	TurboDecoder = "turbo"
	GoDecoder    = "go"
)

// decoder makes decoders of images, nil where the loader's own will do.
func (s Spec) decoder() func() (codec.Decoder, error) {
	if s.ImageDecoder != TurboDecoder {
		return nil
	}
	return func() (codec.Decoder, error) {
		return nil, &OptionError{Field: "ImageDecoder", Text: "is turbo, which this program has not loaded: give the loader a decoder of package images/turbo"}
	}
}

// declared reports whether petastorm's schema has the decoding of a column.
func (s Spec) declared() bool {
	for _, o := range s.Images {
		if o.Declared {
			return true
		}
	}
	return false
}

// columnTypes are the types that the options of the spec need of columns to which the shards give
// none.
func (s Spec) columnTypes() func(name string) rowgroup.NeededType {
	o := s.features(&option.List{New: newOptionError})
	return func(name string) rowgroup.NeededType {
		cast := castType(o, name)
		values := cmp.Or(cast, s.valueType(name))
		if _, scaled := loader.Named(o.Scale, name); scaled {
			values = fixed(column.TypeFloat32, 4)
			cast = fixed(column.TypeFloat64, 8)
		}
		if s.needsList(name) {
			values = &column.Field{Kind: column.List, Children: []*column.Field{cmp.Or(values, fixed(column.TypeInt64, 8))}}
		}
		return rowgroup.NeededType{Empty: values, Mixed: cast}
	}
}

// castType is the type of a cast or of a matrix; nil without one.
func castType(o loader.Features, name string) *column.Field {
	if _, hashed := loader.Named(o.Hash, name); hashed {
		return nil
	}
	if t, ok := loader.Named(o.Cast, name); ok {
		f := fixed(t.Type, rowgroup.CastWidth(t.Type))
		f.Unit = t.Unit
		return f
	}
	for _, stack := range o.Stack {
		if loader.Names(stack.Columns, name) {
			t := cmp.Or(stack.Type, column.TypeFloat32)
			return fixed(t, rowgroup.CastWidth(t))
		}
	}
	return nil
}

// valueType is the type that takes what other options say of a column; nil without any.
func (s Spec) valueType(name string) *column.Field {
	text := &column.Field{Kind: column.Binary, Type: column.TypeString}
	bytes := &column.Field{Kind: column.Binary, Type: column.TypeBinary}
	switch {
	case s.Vocabulary[name] != nil || s.tokenizes(name):
		return text
	case s.Weight == name:
		return fixed(column.TypeFloat64, 8)
	case s.Pack != nil && s.Pack.Length == name:
		return fixed(column.TypeInt64, 8)
	}
	for key, o := range s.Images {
		if o.Source(key) == name {
			return bytes
		}
	}
	if _, ok := loader.Named(s.Hash, name); ok {
		return text
	}
	value, given := loader.Named(s.Null, name)
	for _, p := range s.Pad {
		if p.Column == name && !given {
			value, given = p.Value, true
		}
	}
	return typeOfValue(value)
}

// typeOfValue is the type that holds a value in JSON; nil without one.
func typeOfValue(raw json.RawMessage) *column.Field {
	value, _ := parseValue(raw)
	switch value.(type) {
	case bool:
		return fixed(column.TypeBool, 1)
	case int64:
		return fixed(column.TypeInt64, 8)
	case uint64:
		return fixed(column.TypeUint64, 8)
	case float64:
		return fixed(column.TypeFloat64, 8)
	case string:
		return &column.Field{Kind: column.Binary, Type: column.TypeString}
	case []byte:
		return &column.Field{Kind: column.Binary, Type: column.TypeBinary}
	}
	return nil
}

// needsList reports whether an option takes only lists.
func (s Spec) needsList(name string) bool {
	if s.tokenizes(name) { // which makes lists of its texts
		return false
	}
	for _, p := range s.Pad {
		if p.Column == name {
			return true
		}
	}
	if s.Pack != nil {
		if _, ok := s.Pack.Columns[name]; ok {
			return true
		}
	}
	if s.Bucket != nil {
		_, ok := s.Bucket.Columns[name]
		return ok
	}
	return false
}

func fixed(t column.Type, width int) *column.Field {
	return &column.Field{Kind: column.Fixed, Type: t, Width: width}
}
