package loader

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// sortedKeys are the keys of a map by their names.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A choice is a value for a column, and the name or pattern that it was given for.
type choice[V any] struct {
	value V
	by    string
}

// A binder binds features.
type binder struct {
	Features
	data     *column.Schema
	nan      bool
	fills    []Fill
	problems option.List

	casts   map[int]choice[DType] // by column
	hashes  map[int]choice[int64]
	scales  map[int]choice[Scale]
	stacked []string // by column: the matrix that it is in
	kept    []bool   // of those in matrices
	images  map[int][]*imageColumn
	divides bool // images with a device
}

// chosen finds the columns of names and patterns.
func chosen[V any](b *binder, field string, given map[string]V) map[int]choice[V] {
	all := map[int]choice[V]{}
	for _, name := range sortedKeys(given) {
		at, err := wholeColumns(b.data, name)
		if err != nil {
			b.problems.Add(fmt.Sprintf("%s[%q]", field, name), "does not apply: %v", err)
		}
		for _, i := range at {
			before, twice := all[i]
			own := b.data.Fields[i].Name
			switch {
			case !twice || name == own:
				all[i] = choice[V]{given[name], name}
			case before.by != own:
				b.problems.Add(fmt.Sprintf("%s[%q]", field, name), "matches column %q, and so does %q; name the column", own, before.by)
			}
		}
	}
	return all
}

// castOf returns the cast of a column; to is the type of its matrix, or TypeNone.
func (b *binder) castOf(i int, to column.Type) (c rowgroup.Cast, any bool) {
	f := b.data.Fields[i].Innermost()
	cast, casts := b.casts[i]
	hash, hashes := b.hashes[i]
	scale, scales := b.scales[i]
	c.To = to
	if to == column.TypeNone {
		c.To, c.Unit = cast.value.Type, cast.value.Unit
	}
	if hashes {
		c.Buckets = uint64(hash.value)
		c.To = cmp.Or(c.To, column.TypeInt64)
	}
	if scales {
		c.Scaled, c.Mean, c.Deviation = true, scale.value.Mean, scale.value.Deviation
		if c.To == column.TypeNone {
			c.To = column.TypeFloat32
			if f.Type == column.TypeFloat64 {
				c.To = column.TypeFloat64
			}
		}
	}
	return c, casts || hashes || scales || to != column.TypeNone
}

// field returns the field of Features that mentions a column, for messages.
func (b *binder) field(i int) string {
	if h, ok := b.hashes[i]; ok {
		return fmt.Sprintf("Hash[%q]", h.by)
	}
	if s, ok := b.scales[i]; ok {
		return fmt.Sprintf("Scale[%q]", s.by)
	}
	return fmt.Sprintf("Cast[%q]", b.casts[i].by)
}

// shape puts the columns together: single ones in their order, then the matrices.
func (b *binder) shape(matrices []*rowgroup.Matrix) *Shape {
	s := &Shape{data: b.data, schema: &column.Schema{}}
	for i, f := range b.data.Fields {
		if f.Made && f.Kind == column.Null { // it was read, and is not delivered
			continue
		}
		if b.stacked[i] != "" && !b.kept[i] {
			if c, ok := b.casts[i]; ok && c.by == f.Name {
				b.problems.Add(fmt.Sprintf("Cast[%q]", f.Name), "names a column of {Stack} %q, whose type is that of all its columns; leave it out, or keep the column", b.stacked[i])
			}
			continue
		}
		if all := b.images[i]; all != nil {
			if f, c := shapeOf(i, rowgroup.Tensors(rowgroup.Timestamps(f)), all); f != nil {
				s.add(f, c)
			}
			continue
		}
		out := shapeColumn{source: i}
		if cast, any := b.castOf(i, column.TypeNone); any {
			if f.Made {
				b.problems.Add(b.field(i), "does not apply to column %q, which is made and in no shard", f.Name)
				continue
			}
			to, caster, err := castField(f, cast)
			if err != nil {
				b.problems.Add(b.field(i), "does not apply to column %q: %v", f.Name, err)
				continue
			}
			f, out.cast = to, caster
		}
		s.add(rowgroup.Tensors(rowgroup.Timestamps(f)), out)
	}
	b.addResults(s)
	for _, m := range matrices {
		if slices.ContainsFunc(s.schema.Fields, func(f *column.Field) bool { return f.Name == m.Field.Name }) {
			b.problems.Add(fmt.Sprintf("Stack[%q]", m.Field.Name), "must have another name: the batch has a column %q already", m.Field.Name)
		}
		s.add(m.Field, shapeColumn{source: -1, matrix: m})
	}
	for _, fill := range b.fills {
		if !b.answered(fill.Column) {
			s.fills = append(s.fills, fill)
		}
	}
	return s
}

// answered reports whether a fill only concerns matrices.
func (b *binder) answered(name string) bool {
	if slices.ContainsFunc(b.Stack, func(s Stack) bool { return s.Name == name }) {
		return true
	}
	i := slices.IndexFunc(b.data.Fields, func(f *column.Field) bool { return f.Name == name })
	return i >= 0 && b.stacked[i] != "" && !b.kept[i]
}

func (s *Shape) add(f *column.Field, c shapeColumn) {
	s.schema.Fields = append(s.schema.Fields, f)
	s.columns = append(s.columns, c)
}

// castField applies a cast to a column of fixed values, or of lists of them, and returns its field.
func castField(f *column.Field, c rowgroup.Cast) (*column.Field, *rowgroup.Caster, error) {
	values := f.Innermost()
	if f.Kind == column.List && values.Kind != column.Fixed {
		return nil, nil, fmt.Errorf("it is %v; only lists of fixed-width values can be changed", f)
	}
	m, err := rowgroup.NewCaster(values, c)
	if err != nil {
		return nil, nil, err
	}
	to := withItems(f, m.To())
	to.Partition, to.Made = f.Partition, f.Made
	return to, m, nil
}

// withItems is a field with other items within its lists.
func withItems(f, items *column.Field) *column.Field {
	if f.Kind != column.List {
		return items
	}
	list := *f
	list.Children = []*column.Field{withItems(f.Children[0], items)}
	return &list
}

// stack binds a stack; it returns nil after reporting a problem.
func (b *binder) stack(s Stack) *rowgroup.Matrix {
	field := fmt.Sprintf("Stack[%q]", s.Name)
	if b.packs() {
		b.problems.Add(field, "contradicts {Pack}: the rows of packed batches are blocks of tokens, and other columns lists; leave one of the two out")
		return nil
	}
	members, wrong := b.members(field, s.Columns)
	keep, wrongToo := b.members(field, s.Keep)
	if wrong || wrongToo {
		return nil
	}
	item := &column.Field{Name: "item", Kind: column.Fixed, Type: cmp.Or(s.Type, column.TypeFloat32)}
	m := &rowgroup.Matrix{Field: &column.Field{Name: s.Name, Kind: column.List, Children: []*column.Field{item}}}
	for _, i := range members {
		b.stacked[i] = s.Name
		if err := b.member(m, item, s, i); err != nil {
			b.problems.Add(field, "cannot have column %q: %v", b.data.Fields[i].Name, err)
		}
	}
	for _, i := range keep {
		if slices.Contains(members, i) {
			b.kept[i] = true
		} else if slices.Contains(s.Keep, b.data.Fields[i].Name) {
			b.problems.Add(field, "keeps column %q, which is not in it", b.data.Fields[i].Name)
		}
	}
	m.Field.ListSize = len(m.Field.Features)
	return m
}

// members returns the columns that match names and patterns, in the order of the schema.
func (b *binder) members(field string, names []string) (all []int, wrong bool) {
	for _, name := range names {
		at, err := wholeColumns(b.data, name)
		if err != nil {
			b.problems.Add(field, "cannot have %q: %v", name, err)
			wrong = true
		}
		all = append(all, at...)
	}
	slices.Sort(all)
	return slices.Compact(all), wrong
}

// member adds a column to a matrix.
func (b *binder) member(m *rowgroup.Matrix, item *column.Field, s Stack, i int) error {
	f := b.data.Fields[i]
	cast, _ := b.castOf(i, item.Type)
	member := rowgroup.Member{Column: i, Name: f.Name, At: len(m.Field.Features)}
	values := f
	if f.Kind == column.List {
		if f.Tensor != nil && f.Children[0].Kind != column.Fixed {
			return fmt.Errorf("it is %v, whose items are stored as lists of lists; leave it out of the matrix, and flatten it in the batch", f)
		}
		if f.Tensor != nil && f.Tensor.Order != nil {
			member.Places = f.Tensor.Places()
		}
		if f.ListSize == 0 || f.Children[0].Kind != column.Fixed {
			return fmt.Errorf("it is %v; only lists of numbers with one size have a feature for each item", f)
		}
		values, member.Items = f.Children[0], f.ListSize
	}
	if values.Kind == column.Binary && cast.Buckets == 0 {
		return fmt.Errorf("it is %v; give its hash or its vocabulary", f)
	}
	var err error
	if member.Caster, err = rowgroup.NewCaster(values, cast); err != nil {
		return err
	}
	to := member.Caster.To()
	item.Width = to.Width
	given, err := b.null(&member, to, s)
	if err != nil {
		return err
	}
	item.Nullable = item.Nullable || !given && (f.Nullable || values.Nullable)
	m.Members = append(m.Members, member)
	if member.Items == 0 {
		m.Field.Features = append(m.Field.Features, f.Name)
	}
	for k := range member.Items {
		m.Field.Features = append(m.Field.Features, fmt.Sprintf("%s[%d]", f.Name, k))
	}
	return nil
}

// null sets the replacement of the member's nulls, and reports whether the user gave one.
func (b *binder) null(member *rowgroup.Member, to *column.Field, s Stack) (given bool, err error) {
	value, given := s.Null, s.Null != nil
	for _, name := range []string{s.Name, member.Name} { // the last one wins
		if at := slices.IndexFunc(b.fills, func(f Fill) bool { return f.Column == name }); at >= 0 {
			value, given = b.fills[at].Value, true
		}
	}
	if !given && b.nan {
		if fill := newFiller(to, nil, true); fill != nil {
			member.Null = fill.value
			return false, nil
		}
	}
	if member.Null, err = encode(to, value); err != nil {
		return given, fmt.Errorf("replacing nulls: %w", err)
	}
	return given, nil
}
