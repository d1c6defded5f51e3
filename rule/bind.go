package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// Bind checks the filter against the columns of a data set and makes it ready to evaluate. The
// error joins an [*Error] for each problem.
//
// readFile reads the files of values that the filter names, each once; nil allows no files.
func (e *Expr) Bind(schema *column.Schema, readFile func(name string) ([]byte, error)) (*Filter, error) {
	b := &binder{
		expr: e, schema: schema, read: readFile,
		problems: option.List{New: newError},
		said:     map[string]bool{}, index: map[string]int{}, files: map[string]*valueFile{},
	}
	root := b.node(e.root, false)
	if err := b.problems.Err(); err != nil {
		return nil, err
	}
	return &Filter{inputs: b.inputs, root: root, key: b.keyOf()}, nil
}

// A binder collects what a filter reads and what is wrong with it.
type binder struct {
	expr     *Expr
	schema   *column.Schema
	read     func(name string) ([]byte, error)
	problems option.List
	said     map[string]bool // reported problems, to report each once
	lenient  bool            // tests that do not fit the schema are unfit

	inputs    []Input
	folds     bool           // the filter changes the case of texts
	index     map[string]int // of inputs by path
	files     map[string]*valueFile
	fileNames []string
}

// problem notes what is wrong.
func (b *binder) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !b.said[text] {
		b.said[text] = true
		b.problems.Add(optionField, "%s", text)
	}
}

// node binds a node, negated or not. By the laws of De Morgan, which hold with nulls too, only
// leaves stay negated.
func (b *binder) node(n node, negate bool) bound {
	switch n := n.(type) {
	case *negation:
		return b.node(n.of, !negate)
	case *logic:
		all := &branch{or: n.or != negate}
		for _, m := range n.of {
			all.of = append(all.of, b.node(m, negate))
		}
		slices.SortStableFunc(all.of, func(a, c bound) int { return a.cost() - c.cost() })
		return all
	case *test:
		if b.lenient {
			return b.testIfFits(n, negate)
		}
		return b.test(n, negate)
	}
	panic("rule: a node of an unknown kind")
}

// test binds a test. The leaf is empty after a problem.
func (b *binder) test(t *test, negate bool) bound {
	l := &leaf{negate: negate}
	f := b.resolve(t.of.path)
	if f == nil {
		return l
	}
	l.input = b.input(t.of.path, f)
	if t.op == opIsNull {
		return l
	}
	if t.op == opUnequal {
		positive := *t
		positive.op = opEqual
		t, l.negate = &positive, !negate
	}
	l.match = b.matcher(t, f)
	l.price = price(l.match)
	return l
}

// resolve finds the column of a path: one at the top that is called so, with its dots, else a
// member of structs.
func (b *binder) resolve(path []string) *column.Field {
	whole := strings.Join(path, ".")
	if same := named(b.schema.Fields, whole); len(same) > 0 {
		return b.single(same, whole)
	}
	fields := b.schema.Fields
	for i, name := range path {
		same := named(fields, name)
		if len(same) == 0 {
			break
		}
		f := b.single(same, strings.Join(path[:i+1], "."))
		if f == nil || i == len(path)-1 {
			return f
		}
		if f.Kind != column.Struct {
			b.problem("names column %q, but %q is %v, which has no members that a filter can name", whole, strings.Join(path[:i+1], "."), f)
			return nil
		}
		fields = f.Children
	}
	b.problem("names column %q, which the data does not have%s", whole, option.Near(whole, column.Paths(b.schema.Fields), column.Names(b.schema.Fields)))
	return nil
}

func named(fields []*column.Field, name string) (same []*column.Field) {
	for _, f := range fields {
		if f.Name == name {
			same = append(same, f)
		}
	}
	return same
}

// single refuses names that several columns have.
func (b *binder) single(same []*column.Field, name string) *column.Field {
	if len(same) > 1 {
		b.problem("names column %q, which the data has %d times", name, len(same))
		return nil
	}
	return same[0]
}

// input is the number of the input with this path.
func (b *binder) input(path []string, f *column.Field) int {
	if named(b.schema.Fields, strings.Join(path, ".")) != nil {
		path = []string{strings.Join(path, ".")}
	}
	name := pathText(path)
	i, ok := b.index[name]
	if !ok {
		i = len(b.inputs)
		b.index[name] = i
		b.inputs = append(b.inputs, Input{
			Path: slices.Clone(path), Field: f, Lengths: f.Kind == column.List || f.Kind == column.Map,
		})
	}
	return i
}

// matcher binds what a test does with a value.
func (b *binder) matcher(t *test, f *column.Field) matcher {
	if f.Kind == column.Null {
		return noValues{}
	}
	switch {
	case (t.of.fn == ofLength || t.of.fn == ofHash) && !b.counted(t):
		return nil
	case t.of.fn == ofLength:
		return b.lengthMatcher(t, f)
	case t.of.fn == ofHash:
		return b.hashMatcher(t, f)
	}
	if t.op == opIsNaN {
		return b.nanMatcher(t, f)
	}
	if t.op.searches() || cases[t.of.fn] != "" {
		return b.textMatcher(t, f)
	}
	why := ""
	switch {
	case f.Kind == column.List || f.Kind == column.Map:
		why = fmt.Sprintf("use len(%s) or %s is null", pathText(t.of.path), pathText(t.of.path))
	case f.Kind == column.Struct:
		why = fmt.Sprintf("name a member, as in %s.%s", pathText(t.of.path), pathText([]string{f.Children[0].Name}))
	case f.Type == column.TypeBool && t.op.orders():
		b.problem("orders column %q (%v) by %v; a boolean is only compared by = and !=", strings.Join(t.of.path, "."), f, t.op)
		return nil
	case !canCompare(f):
		why = "use is null or is not null"
	}
	if why != "" {
		b.problem("compares column %q (%v) with %s; %s", strings.Join(t.of.path, "."), f, t.operandText(), why)
		return nil
	}
	values, ok := b.values(t, f)
	if !ok {
		return nil
	}
	return newMatcher(f, t.op, values)
}

// operandText is the first value of a test in a message.
func (t *test) operandText() string {
	if t.file != "" {
		return fileName(t.file)
	}
	return t.values[0].shown()
}

// counted refuses searches of numbers.
func (b *binder) counted(t *test) bool {
	switch {
	case t.op == opIsNaN:
		b.nanMatcher(t, countField)
	case t.op.searches():
		b.problem("searches %s, which is a number; name a column of strings", t.of)
	default:
		return true
	}
	return false
}

// lengthMatcher binds len(column).
func (b *binder) lengthMatcher(t *test, f *column.Field) matcher {
	if f.Kind != column.List && f.Kind != column.Map && f.Kind != column.Binary {
		b.problem("takes the length of column %q (%v); len is of lists, maps, strings and binary values", strings.Join(t.of.path, "."), f)
		return nil
	}
	keys, ok := b.counts(t)
	if !ok {
		return nil
	}
	return lengths{rangeTest(t.op, keys)}
}

// hashMatcher binds hash(column) % n.
func (b *binder) hashMatcher(t *test, f *column.Field) matcher {
	if f.Kind != column.Fixed && f.Kind != column.Binary {
		b.problem("takes the hash of column %q (%v); name a column of single values", strings.Join(t.of.path, "."), f)
		return nil
	}
	keys, ok := b.counts(t)
	if !ok {
		return nil
	}
	return hashes{test: rangeTest(t.op, keys), salt: t.of.salt, mod: t.of.mod}
}

// countField is the type of lengths and hashes.
var countField = &column.Field{Kind: column.Fixed, Type: column.TypeUint64, Width: 8}

// counts are the literals of a test of a length or a hash.
func (b *binder) counts(t *test) (keys []uint64, ok bool) {
	values, ok := b.values(t, countField)
	for _, v := range values {
		keys = append(keys, v.key)
	}
	return keys, ok
}

// values makes the literals of a test, or the lines of its file, values of the field.
func (b *binder) values(t *test, f *column.Field) (values []fitted, ok bool) {
	name := t.name()
	if t.file != "" {
		return b.fileValues(t.file, name, f)
	}
	ok = true
	for i := range t.values {
		if c := t.values[i].clock; c != nil {
			b.problem("asks for %s(), and no time is given", c.word)
			return nil, false
		}
		v, err := fit(f, &t.values[i])
		if err != nil {
			b.problem("compares %s with %s, %s", describe(name, f), t.values[i].shown(), err)
			ok = false
		}
		values = append(values, v)
	}
	return values, ok
}

// describe names what is compared in a message.
func describe(name string, f *column.Field) string {
	if f == countField {
		return name + " (a whole number)"
	}
	return fmt.Sprintf("%s (%v)", name, f)
}
