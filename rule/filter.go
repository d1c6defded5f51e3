package rule

import (
	"fmt"
	"strings"
	"unicode"
)

// A Filter is an [Expr] bound to a schema. It is immutable: all goroutines may share it.
type Filter struct {
	inputs []Input
	root   bound
	key    string
}

// Inputs lists the columns that the filter reads, each once. Evaluate and Prune take them in this
// order.
func (f *Filter) Inputs() []Input { return f.inputs }

// Key is the name under which what the filter keeps can be stored: filters with one key keep the
// same rows of the same data. It has the canonical text, the types of the columns, a hash of each
// file of values, and the version of the evaluator.
func (f *Filter) Key() string { return f.key }

// A bound is a *branch or a *leaf. Negations are pushed down to the leaves, which Kleene's logic
// allows, so that one bitmap, of the rows for which it is true, says all of a node.
type bound interface{ cost() int }

// A branch is the and, or the or, of nodes, cheap ones first.
type branch struct {
	or bool
	of []bound
}

func (b *branch) cost() (sum int) {
	for _, n := range b.of {
		sum += n.cost()
	}
	return sum
}

// A leaf is true if its matcher passes; negated, if there is a value and it does not pass. Without
// a matcher it is true if the column is null; negated, if it is not.
type leaf struct {
	input  int
	match  matcher
	negate bool
	price  int // of a row, in some nanoseconds
}

func (l *leaf) cost() int { return l.price }

// price is about what a row costs.
func price(m matcher) int {
	switch m.(type) {
	case nil:
		return 0
	case *texts:
		return 5
	case *wides:
		return 4
	case hashes:
		return 10
	case *searches:
		return 20
	case lengths, halves:
		return 2
	}
	return 1
}

// version changes when a filter keeps other rows than it did.
const version = "rule/1"

// keyOf is the filter's key.
func (b *binder) keyOf() string {
	var s strings.Builder
	s.WriteString(b.expr.String())
	for _, in := range b.inputs {
		fmt.Fprintf(&s, "\n%s %v", pathText(in.Path), in.Field)
	}
	if b.folds {
		s.WriteString("\nUnicode " + unicode.Version)
	}
	for _, name := range b.fileNames {
		fmt.Fprintf(&s, "\n%s sha256:%x", fileName(name), b.files[name].sum)
	}
	return s.String() + "\n" + version
}
