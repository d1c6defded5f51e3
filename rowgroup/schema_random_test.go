package rowgroup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
)

// randomSchema writes columns of any nesting, lists and maps in all their forms among them.
type randomSchema struct {
	r *rand.Rand
	n int
}

func (g *randomSchema) columns(n, depth int) string {
	var b strings.Builder
	for range n {
		b.WriteString(g.column(depth, []string{"required", "optional", "repeated"}[g.r.IntN(3)]))
	}
	return b.String()
}

func (g *randomSchema) name() string {
	g.n++
	return fmt.Sprintf("%s%d", []string{"list", "array", "element", "key", "x"}[g.r.IntN(5)], g.n)
}

func (g *randomSchema) column(depth int, repetition string) string {
	name := g.name()
	kind := g.r.IntN(8)
	if depth == 0 {
		kind = 0
	}
	optional := []string{"required", "optional"}
	switch kind {
	case 1, 2:
		return fmt.Sprintf("%s group %s { %s } ", repetition, name, g.columns(1+g.r.IntN(3), depth-1))
	case 3, 4:
		inner := []string{"list", "array", "bag", name + "_tuple"}[g.r.IntN(4)]
		return fmt.Sprintf("%s group %s (LIST) { repeated group %s { %s } } ", repetition, name, inner, g.columns(1+g.r.IntN(2), depth-1))
	case 5:
		return fmt.Sprintf("%s group %s (LIST) { repeated int32 array ; } ", repetition, name)
	case 6:
		key, value := g.column(0, optional[g.r.IntN(2)]), g.column(depth-1, optional[g.r.IntN(2)])
		return fmt.Sprintf("%s group %s (MAP) { repeated group key_value { %s %s } } ", repetition, name, key, value)
	}
	return fmt.Sprintf("%s %s %s ; ", repetition, []string{"int32", "int64", "double", "binary", "boolean"}[g.r.IntN(5)], name)
}

// Whatever the nesting: every leaf is in the tree once, in order, its levels count the optional and
// repeated elements above it, and the levels of the nodes grow on the way to it.
func TestRandomSchemas(t *testing.T) {
	for seed := range uint64(300) {
		g := randomSchema{r: rand.New(rand.NewPCG(seed, 7))}
		text := g.columns(1+g.r.IntN(4), 4)
		s := fileSchemaOf(t, text)
		want := leafLevels(parseSchema(t, text))
		var got []string
		for _, n := range leavesOf(s.columns) {
			got = append(got, fmt.Sprintf("%s %d/%d", n.leaf.path, n.leaf.maxDef, n.leaf.maxRep))
			if n.leaf.index != len(got)-1 {
				t.Errorf("leaf %d has index %d", len(got)-1, n.leaf.index)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("leaves are\n%s\nwant\n%s\nin %s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
		for _, n := range s.columns {
			checkLevels(t, n, 0, 0)
		}
		if t.Failed() {
			t.Fatalf("in %s\n%s", text, dumpNodes(s.columns))
		}
	}
}

// leafLevels counts levels straight from the elements.
func leafLevels(all []format.SchemaElement) []string {
	var leaves []string
	next := 1
	var walk func(path []string, def, rep int)
	walk = func(path []string, def, rep int) {
		e := all[next]
		next++
		path = append(slices.Clip(path), e.Name)
		switch e.RepetitionType.V {
		case format.Optional:
			def++
		case format.Repeated:
			def++
			rep++
		}
		if e.Type.Valid {
			leaves = append(leaves, fmt.Sprintf("%s %d/%d", strings.Join(path, "."), def, rep))
		}
		for range e.NumChildren.V {
			walk(path, def, rep)
		}
	}
	for next < len(all) {
		walk(nil, 0, 0)
	}
	return leaves
}

// checkLevels compares a node with its parent's levels: def is what makes a value present, rep how
// often it repeats.
func checkLevels(t *testing.T, n *node, def, rep int) {
	if n.field.Nullable {
		def++
	}
	if n.def != def {
		t.Errorf("%s: definition level %d, want %d", n.path, n.def, def)
	}
	switch n.field.Kind {
	case column.List, column.Map:
		def, rep = def+1, rep+1
		if n.repDef != def || n.rep != rep || len(n.children) != 1 {
			t.Errorf("%s: items from level %d/%d, want %d/%d", n.path, n.repDef, n.rep, def, rep)
		}
	default:
		if n.rep != rep || (n.leaf == nil) != (n.field.Kind == column.Struct) {
			t.Errorf("%s: repetition level %d, want %d", n.path, n.rep, rep)
		}
	}
	if n.leaf != nil && (n.leaf.maxDef != def || n.leaf.maxRep != rep) {
		t.Errorf("%s: levels of the leaf are %d/%d, of the node %d/%d", n.path, n.leaf.maxDef, n.leaf.maxRep, def, rep)
	}
	if n.field.Kind == column.Map && (len(n.children[0].children) != 2 || n.children[0].field.Kind != column.Struct) {
		t.Errorf("%s: a map of no pairs", n.path)
	}
	for i, c := range n.children {
		if n.field.Children[i] != c.field {
			t.Errorf("%s: field and node differ", n.path)
		}
		checkLevels(t, c, def, rep)
	}
}

// Files that have some of the columns each: the union has all of them once, and each file's leaves
// are bound once, in its own order.
func TestRandomUnions(t *testing.T) {
	for seed := range uint64(200) {
		g := randomSchema{r: rand.New(rand.NewPCG(seed, 8))}
		var columns []string
		for range 2 + g.r.IntN(5) {
			columns = append(columns, g.column(3, []string{"required", "optional", "repeated"}[g.r.IntN(3)]))
		}
		var files []*fileSchema
		var owners []string
		used := map[string]bool{}
		for i := range 1 + g.r.IntN(4) {
			order := g.r.Perm(len(columns))[:1+g.r.IntN(len(columns))]
			text := ""
			for _, k := range order {
				text += columns[k]
				used[columns[k]] = true
			}
			files = append(files, fileSchemaOf(t, text))
			owners = append(owners, fmt.Sprint("file", i))
		}
		all, err := project(unite(files), nil, true, owners, make([]int, len(files)))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(used) {
			t.Errorf("%d columns are united to %d", len(used), len(all))
		}
		for i, f := range files {
			bound, err := bind(all, f.columns)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, n := range leavesOf(bound) {
				got = append(got, n.leaf.index)
			}
			slices.Sort(got)
			for k := range f.leaves {
				if k >= len(got) || got[k] != k {
					t.Fatalf("file %d: leaves %v of %d are bound", i, got, f.leaves)
				}
			}
			for k, n := range bound {
				if n.field != all[k].field || n.missing != !slices.ContainsFunc(f.columns, func(c *node) bool { return c.field.Name == n.field.Name }) {
					t.Errorf("file %d: column %s, missing %v", i, n.field.Name, n.missing)
				}
			}
		}
	}
}

// Every path of a leaf, in full and in short, projects to that leaf, with the keys of the maps
// around it.
func TestRandomProjections(t *testing.T) {
	for seed := range uint64(200) {
		g := randomSchema{r: rand.New(rand.NewPCG(seed, 9))}
		s := fileSchemaOf(t, g.columns(3, 4))
		root := unite([]*fileSchema{s})
		for _, n := range leavesOf(s.columns) {
			columns, err := project(root, []string{n.leaf.path}, false, []string{"file"}, []int{1})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := bind(columns, s.columns)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, b := range leavesOf(bound) {
				found = found || b.leaf.index == n.leaf.index
			}
			if !found || len(bound) != 1 {
				t.Errorf("%s: %d columns\n%s", n.leaf.path, len(bound), dumpNodes(bound))
			}
		}
	}
}
