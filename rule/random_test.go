package rule

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/column"
)

// truth is Kleene's: no, unknown, yes.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// A testColumn is a random column of a block.
type testColumn struct {
	testType
	path   []string
	values []any // nil is null
	column Column
	stats  ColumnStats
}

// A condition is a random filter, as text and as what it is for a row: the slow evaluator that the
// real one is held against.
type condition struct {
	text string
	of   func(row int) truth
}

// A generator makes random filters over columns.
type generator struct {
	r       *rand.Rand
	columns []*testColumn
	files   map[string][]byte
}

func (g *generator) one(of ...string) string { return of[g.r.IntN(len(of))] }

// condition returns a random condition with up to depth levels of logic.
func (g *generator) condition(depth int) condition {
	if depth == 0 || g.r.IntN(4) == 0 {
		return g.test()
	}
	if g.r.IntN(4) == 0 {
		c := g.condition(depth - 1)
		return condition{g.one("not", "NOT") + " (" + c.text + ")", func(row int) truth { return yes - c.of(row) }}
	}
	a, b := g.condition(depth-1), g.condition(depth-1)
	if g.r.IntN(2) == 0 {
		return condition{
			"(" + a.text + g.one(" and ", " AND\n") + b.text + ")", func(row int) truth { return min(a.of(row), b.of(row)) },
		}
	}
	return condition{"(" + a.text + g.one(" or ", "\tOr ") + b.text + ")", func(row int) truth { return max(a.of(row), b.of(row)) }}
}

// test returns a random test of a random column.
func (g *generator) test() condition {
	c := g.columns[g.r.IntN(len(g.columns))]
	name := strings.Join(c.path, ".")
	if g.r.IntN(6) == 0 {
		not := g.r.IntN(2) == 0
		return condition{
			name + map[bool]string{false: " is null", true: " is not null"}[not],
			func(row int) truth { return truthOf((c.values[row] == nil) != not) },
		}
	}
	text := func(v any) string { return c.text(g.r, v) }
	of := func(row int) any { return c.values[row] }
	pick := func() any {
		if n := len(c.values); n > 0 && g.r.IntN(2) == 0 {
			if v := c.values[g.r.IntN(n)]; v != nil {
				return v
			}
		}
		return c.value(g.r)
	}
	line, ordered := c.line, c.field.Type != column.TypeBool
	if c.searches() && g.r.IntN(3) == 0 {
		return g.search(c, name, pick)
	}
	if c.isFloat() && g.r.IntN(5) == 0 {
		return g.isNaN(c, name)
	}
	switch {
	case c.field.Kind == column.List || c.field.Kind == column.Binary && g.r.IntN(4) == 0:
		name, of, pick, text = g.length(c, name)
		line = nil
	case g.r.IntN(8) == 0:
		name, of, pick, text = g.hash(c, name)
		line = nil
	}
	return g.compare(name, of, pick, text, line, ordered || strings.HasPrefix(name, "hash"))
}

func bigText(v any) string { return v.(*big.Int).String() }

func (g *generator) length(c *testColumn, name string) (string, func(int) any, func() any, func(any) string) {
	of := func(row int) any {
		switch v := c.values[row].(type) {
		case string:
			if c.field.Type == column.TypeBinary {
				return big.NewInt(int64(len(v)))
			}
			return big.NewInt(int64(utf8.RuneCountInString(v)))
		default:
			return v // a list's value is its length
		}
	}
	return "len(" + name + ")", of, func() any { return big.NewInt(g.r.Int64N(6)) }, bigText
}

func (g *generator) hash(c *testColumn, name string) (string, func(int) any, func() any, func(any) string) {
	salt, mod := g.r.Uint64()>>g.r.IntN(64), g.r.Uint64N(9)+1
	of := func(row int) any {
		if c.values[row] == nil {
			return nil
		}
		return new(big.Int).SetUint64(hash64(salt, c.hashed(c.values[row])) % mod)
	}
	return fmt.Sprintf("hash(%s, %d) %% %d", name, salt, mod), of, func() any { return big.NewInt(g.r.Int64N(int64(mod) + 1)) }, bigText
}

// compare returns a random comparison of the values that of yields.
func (g *generator) compare(name string, of func(int) any, pick func() any, text func(any) string, line func(any) string, ordered bool) condition {
	against := func(test func(v any) bool) func(row int) truth {
		return func(row int) truth {
			if v := of(row); v != nil {
				return truthOf(test(v))
			}
			return unknown
		}
	}
	negate := func(not bool, f func(row int) truth) func(row int) truth {
		if not {
			return func(row int) truth { return yes - f(row) }
		}
		return f
	}
	not := g.r.IntN(2) == 0
	word := map[bool]string{false: " ", true: " not "}[not]
	switch kind := g.r.IntN(4); {
	case kind == 0:
		values, list := g.list(pick, text, line)
		return condition{name + word + "in " + list, negate(not, against(func(v any) bool { return isOneOf(v, values) }))}
	case kind == 1 && ordered:
		lo, hi := pick(), pick()
		return condition{
			name + word + "between " + text(lo) + " and " + text(hi),
			negate(not, against(func(v any) bool { return ordersAs(v, ">=", lo) && ordersAs(v, "<=", hi) })),
		}
	}
	ops := []string{"=", "!=", "==", "<>", "<", "<=", ">", ">="}
	if !ordered {
		ops = ops[:4]
	}
	op, v := g.one(ops...), pick()
	holds := against(func(x any) bool { return ordersAs(x, op, v) })
	if literal := text(v); g.r.IntN(4) == 0 && !strings.HasPrefix(literal, `"`) && !isNotFinite(strings.TrimLeft(literal, "+-")) {
		flipped := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
		back, ok := flipped[op]
		if !ok {
			back = op
		}
		return condition{literal + back + " " + name, holds}
	}
	return condition{name + " " + op + " " + text(v), holds}
}

// list returns values and what follows in.
func (g *generator) list(pick func() any, text, line func(any) string) (values []any, list string) {
	var texts, lines []string
	for range g.r.IntN(5) + 1 {
		v := pick()
		values, texts = append(values, v), append(texts, text(v))
		if line != nil {
			lines = append(lines, line(v))
		}
	}
	if line != nil && g.r.IntN(3) == 0 {
		name := fmt.Sprintf("file %d.txt", len(g.files))
		g.files[name] = []byte(strings.Join(lines, g.one("\n", "\r\n", "\n\n")))
		return values, "@'" + name + "'"
	}
	return values, "(" + strings.Join(texts, ", ") + ")"
}

func isOneOf(v any, values []any) bool {
	for _, x := range values {
		if ordersAs(v, "=", x) {
			return true
		}
	}
	return false
}

func ordersAs(a any, op string, b any) bool {
	order, ok := compareValues(a, b)
	switch op {
	case "=", "==":
		return ok && order == 0
	case "!=", "<>":
		return !ok || order != 0
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// TestRandomFilters evaluates random filters over random columns of all types, and prunes by random
// true facts about them.
func TestRandomFilters(t *testing.T) {
	verdicts := map[Verdict]int{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newTestBlock(r, []int{0, 1, 63, 64, 65, 200}[r.IntN(6)])
		g := &generator{r: r, columns: b.columns, files: map[string][]byte{}}
		for range 40 {
			c := g.condition(r.IntN(4))
			checkRandom(t, b, g, c, verdicts)
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, c.text)
			}
		}
	}
	if verdicts[None] < 1000 || verdicts[All] < 200 {
		t.Errorf("verdicts %v: few proofs", verdicts)
	}
}

func checkRandom(t *testing.T, b *testBlock, g *generator, c condition, verdicts map[Verdict]int) {
	t.Helper()
	e, err := Parse(c.text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(e.String())
	if err != nil || again.String() != e.String() {
		t.Fatalf("canonical text %q reads as %v, %v", e, again, err)
	}
	read := func(name string) ([]byte, error) { return g.files[name], nil }
	f, err := again.Bind(&b.schema, read)
	if err != nil {
		t.Fatal(err)
	}
	kept, n, err := f.NewEvaluator().Evaluate(b.rows, b.inputs(f))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for row := range b.rows {
		want := c.of(row) == yes
		if got := kept[row/64]>>(row%64)&1 == 1; got != want {
			t.Fatalf("row %d is kept: %v, want %v, by %s", row, got, want, c.text)
		}
		count += int(truthOf(want)) / 2
	}
	if n != count {
		t.Errorf("%d rows counted, want %d", n, count)
	}
	v := f.Prune(testStats{b, f})
	verdicts[v]++
	if v == None && n > 0 || v == All && n < b.rows {
		t.Errorf("pruned as %v, %d of %d rows stay", v, n, b.rows)
	}
}
