package rule

import (
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/option"
)

// A Screen prunes rows by a filter whose columns they may lack, or have with other types. It knows
// nothing of a test that does not fit their schema.
type Screen struct{ filter Filter }

// Screen binds the tests of the filter that fit a schema. See Bind for readFile.
func (e *Expr) Screen(schema *column.Schema, readFile func(name string) ([]byte, error)) *Screen {
	b := &binder{expr: e, schema: schema, read: readFile, index: map[string]int{}, lenient: true}
	root := b.node(e.root, false)
	return &Screen{Filter{inputs: b.inputs, root: root}}
}

// Inputs lists the columns of the tests, each once. Prune takes them in this order.
func (s *Screen) Inputs() []Input { return s.filter.inputs }

// Prune is Filter.Prune of these tests.
func (s *Screen) Prune(stats Stats) Verdict { return s.filter.Prune(stats) }

// unfit is a test that does not fit the schema.
type unfit struct{}

func (unfit) cost() int { return 0 }

// testIfFits binds a test, or returns unfit if it does not fit the schema.
func (b *binder) testIfFits(t *test, negate bool) bound {
	one := &binder{
		expr: b.expr, schema: b.schema, read: b.read,
		problems: option.List{New: newError},
		said:     map[string]bool{}, inputs: b.inputs, index: b.index, files: map[string]*valueFile{},
	}
	l := one.test(t, negate)
	b.inputs = one.inputs
	if one.problems.Err() != nil {
		return unfit{}
	}
	return l
}
