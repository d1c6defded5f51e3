package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
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
		want := leafLevels(filetest.Schema(t, text))
		var got []string
		for _, n := range LeavesOf(s.Columns) {
			got = append(got, fmt.Sprintf("%s %d/%d", n.Leaf.Path, n.Leaf.MaxDef, n.Leaf.MaxRep))
			if n.Leaf.Index != len(got)-1 {
				t.Errorf("leaf %d has index %d", len(got)-1, n.Leaf.Index)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("leaves are\n%s\nwant\n%s\nin %s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
		for _, n := range s.Columns {
			checkLevels(t, n, 0, 0)
		}
		if t.Failed() {
			t.Fatalf("in %s\n%s", text, dumpNodes(s.Columns))
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
func checkLevels(t *testing.T, n *Node, def, rep int) {
	if n.Field.Nullable {
		def++
	}
	if n.Def != def {
		t.Errorf("%s: definition level %d, want %d", n.path, n.Def, def)
	}
	switch n.Field.Kind {
	case column.List, column.Map:
		def, rep = def+1, rep+1
		if n.RepDef != def || n.Rep != rep || len(n.Children) != 1 {
			t.Errorf("%s: items from level %d/%d, want %d/%d", n.path, n.RepDef, n.Rep, def, rep)
		}
	default:
		if n.Rep != rep || (n.Leaf == nil) != (n.Field.Kind == column.Struct) {
			t.Errorf("%s: repetition level %d, want %d", n.path, n.Rep, rep)
		}
	}
	if n.Leaf != nil && (n.Leaf.MaxDef != def || n.Leaf.MaxRep != rep) {
		t.Errorf("%s: levels of the leaf are %d/%d, of the node %d/%d", n.path, n.Leaf.MaxDef, n.Leaf.MaxRep, def, rep)
	}
	if n.Field.Kind == column.Map && (len(n.Children[0].Children) != 2 || n.Children[0].Field.Kind != column.Struct) {
		t.Errorf("%s: a map of no pairs", n.path)
	}
	for i, c := range n.Children {
		if n.Field.Children[i] != c.Field {
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
		var files []*File
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
		all, err := Project(Unite(files), nil, true, owners, make([]int, len(files)))
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(used) {
			t.Errorf("%d columns are united to %d", len(used), len(all))
		}
		for i, f := range files {
			bound, err := Bind(all, f.Columns)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, n := range LeavesOf(bound) {
				got = append(got, n.Leaf.Index)
			}
			slices.Sort(got)
			for k := range f.Leaves {
				if k >= len(got) || got[k] != k {
					t.Fatalf("file %d: leaves %v of %d are bound", i, got, f.Leaves)
				}
			}
			for k, n := range bound {
				if n.Field != all[k].Field || n.Missing != !slices.ContainsFunc(f.Columns, func(c *Node) bool { return c.Field.Name == n.Field.Name }) {
					t.Errorf("file %d: column %s, missing %v", i, n.Field.Name, n.Missing)
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
		root := Unite([]*File{s})
		for _, n := range LeavesOf(s.Columns) {
			columns, err := Project(root, []string{n.Leaf.Path}, false, []string{"file"}, []int{1})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := Bind(columns, s.Columns)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, b := range LeavesOf(bound) {
				found = found || b.Leaf.Index == n.Leaf.Index
			}
			if !found || len(bound) != 1 {
				t.Errorf("%s: %d columns\n%s", n.Leaf.Path, len(bound), dumpNodes(bound))
			}
		}
	}
}
