package rule

import (
	"slices"
	"strconv"
	"strings"
)

// An Expr is a filter as parsed. It is immutable.
type Expr struct {
	root node
}

// A node is a *logic, a *negation or a *test.
type node interface {
	write(b *strings.Builder, around int)
}

// How tightly a node binds: a node in one of a higher level needs parentheses.
const (
	levelOr = iota
	levelAnd
	levelNot
)

// A logic is the and, or the or, of two nodes or more. None of them is a logic of the same kind.
type logic struct {
	or bool
	of []node
}

type negation struct {
	of node
}

// A test is about one operand.
type test struct {
	of     operand
	op     op
	values []literal // one; two for between; any number for in
	file   string    // of in @file
	bare   bool      // the operand has no comparison, which is = true
	escape bool      // the value is a pattern that has escapes
}

type op uint8

const (
	opEqual op = iota
	opUnequal
	opLess
	opAtMost
	opGreater
	opAtLeast
	opIn
	opBetween
	opIsNull
	opIsNaN
	opLike
	opContains
	opStartsWith
	opEndsWith
)

var opNames = [...]string{
	"=", "!=", "<", "<=", ">", ">=", "in", "between", "is null", "is nan", "like", "contains", "starts_with", "ends_with",
}

func (o op) String() string { return opNames[o] }

// orders reports whether the operator needs an order of values.
func (o op) orders() bool { return o >= opLess && o <= opAtLeast || o == opBetween }

// searches reports whether the operator looks for text within a value.
func (o op) searches() bool { return o >= opLike && o <= opEndsWith }

// infix reports whether not is written between the operand and the operator.
func (o op) infix() bool { return o >= opIn && o <= opLike }

// flipped is the operator with its sides changed.
func (o op) flipped() op {
	switch o {
	case opLess:
		return opGreater
	case opAtMost:
		return opAtLeast
	case opGreater:
		return opLess
	case opAtLeast:
		return opAtMost
	}
	return o
}

// An operand is the subject of a test: a column, the length or the hash of one, or its text in one
// case.
type operand struct {
	path []string
	fn   function
	salt uint64 // of a hash
	mod  uint64 // of a hash: at least 1
}

type function uint8

const (
	ofValue function = iota
	ofLength
	ofHash
	ofLower
	ofUpper
)

// cases are the functions that change the case of a text.
var cases = map[function]string{ofLower: "lower", ofUpper: "upper"}

// String is the canonical text: one spelling for filters that differ in nothing but spaces,
// spellings of operators and literals, and parentheses that change nothing. Parse reads it back as
// an equal filter.
//
// It is part of the name under which counts of rows are kept, so it never changes for a filter.
func (e *Expr) String() string {
	var b strings.Builder
	e.root.write(&b, levelOr)
	return b.String()
}

// Columns lists the columns that the filter reads, each once, as dotted paths in the order of the
// text.
func (e *Expr) Columns() []string {
	var all []string
	visit(e.root, func(t *test) {
		if name := strings.Join(t.of.path, "."); !slices.Contains(all, name) {
			all = append(all, name)
		}
	})
	return all
}

// visit calls f for each test, from left to right.
func visit(n node, f func(t *test)) {
	switch n := n.(type) {
	case *logic:
		for _, m := range n.of {
			visit(m, f)
		}
	case *negation:
		visit(n.of, f)
	case *test:
		f(n)
	}
}

func (n *logic) write(b *strings.Builder, around int) {
	level, between := levelAnd, " and "
	if n.or {
		level, between = levelOr, " or "
	}
	if around > level {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	for i, m := range n.of {
		if i > 0 {
			b.WriteString(between)
		}
		m.write(b, level)
	}
}

func (n *negation) write(b *strings.Builder, _ int) {
	if t, ok := n.of.(*test); ok && t.op.infix() {
		t.writeAs(b, "not ")
		return
	}
	b.WriteString("not ")
	n.of.write(b, levelNot)
}

func (t *test) write(b *strings.Builder, _ int) { t.writeAs(b, "") }

// writeAs writes the test with not in front of its operator, or nothing.
func (t *test) writeAs(b *strings.Builder, not string) {
	if t.op.searches() && t.op != opLike {
		b.WriteString(t.op.String() + "(" + t.of.String() + ", " + t.values[0].String() + ")")
		return
	}
	b.WriteString(t.of.String())
	switch t.op {
	case opIsNull, opIsNaN:
		b.WriteString(" is " + not + strings.TrimPrefix(t.op.String(), "is "))
	case opLike:
		b.WriteString(" " + not + "like " + t.values[0].String())
		if t.escape {
			b.WriteString(` escape '\'`)
		}
	case opBetween:
		b.WriteString(" " + not + "between " + t.values[0].String() + " and " + t.values[1].String())
	case opIn:
		b.WriteString(" " + not + "in ")
		t.writeMembers(b)
	default:
		b.WriteString(" " + t.op.String() + " " + t.values[0].String())
	}
}

func (t *test) writeMembers(b *strings.Builder) {
	if t.file != "" {
		b.WriteString(fileName(t.file))
		return
	}
	b.WriteByte('(')
	for i := range t.values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.values[i].String())
	}
	b.WriteByte(')')
}

// fileName is a file of values as the canonical text has it.
func fileName(name string) string {
	if strings.TrimLeftFunc(name, inFileName) == "" {
		return "@" + name
	}
	return "@" + quote(name, '\'')
}

func (o operand) String() string {
	name := pathText(o.path)
	switch o.fn {
	case ofLength:
		return "len(" + name + ")"
	case ofHash:
		if o.salt != 0 {
			name += ", " + strconv.FormatUint(o.salt, 10)
		}
		return "hash(" + name + ") % " + strconv.FormatUint(o.mod, 10)
	case ofLower, ofUpper:
		return cases[o.fn] + "(" + name + ")"
	}
	return name
}

// pathText is the path of a column as the canonical text has it.
func pathText(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p
		if !isName(p) {
			parts[i] = quote(p, '"')
		}
	}
	return strings.Join(parts, ".")
}
