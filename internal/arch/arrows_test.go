package arch

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArrows keeps the files of a package in a direction: in the order of files that suits them
// best, no more of their uses lead back than arrows_ratchet.txt allows.
func TestArrows(t *testing.T) {
	limits := readLimits(t, "arrows_ratchet.txt")
	if len(limits) == 0 {
		t.Fatal("arrows_ratchet.txt has no limits")
	}
	exports := exported(t, slices.Collect(maps.Keys(limits)))
	for _, p := range packages(t) {
		name := rel(p.ImportPath)
		limit, ok := limits[name]
		if !ok {
			continue
		}
		delete(limits, name)
		back := fewestBack(fileUses(t, p, exports))
		t.Logf("%s: %d arrows back, at most %d", name, len(back), limit)
		if len(back) > limit {
			t.Errorf("%s: %d uses between files lead back, at most %d may: declare what a lower file needs below it\n%s", name, len(back), limit, strings.Join(back, "\n"))
		}
	}
	for name := range limits {
		t.Errorf("arrows_ratchet.txt limits %s, which is not a package", name)
	}
}

// readLimits reads lines of a package and its limit.
func readLimits(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limits := map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			var name string
			var limit int
			if _, err := fmt.Sscanf(line, "%s %d", &name, &limit); err != nil {
				t.Fatalf("%s: %q: %v", path, line, err)
			}
			limits[name] = limit
		}
	}
	return limits
}

// exported returns the files of export data of the packages that names import.
func exported(t *testing.T, names []string) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = moduleRoot(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -export: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return files
}

// fileUses maps each file of a package to the files that declare what it uses.
func fileUses(t *testing.T, p pkg, exports map[string]string) map[string]map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	uses := map[string]map[string]bool{}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		uses[name] = map[string]bool{}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked, err := conf.Check(p.ImportPath, fset, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	base := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	for id, object := range info.Uses {
		if object.Pkg() != checked || !object.Pos().IsValid() {
			continue
		}
		if from, to := base(id.Pos()), base(object.Pos()); from != to {
			uses[from][to] = true
		}
	}
	return uses
}

// fewestBack returns the uses that lead back in the best order found. Finding the very best one is
// NP-hard: many orders are improved until no file can move for the better.
func fewestBack(uses map[string]map[string]bool) []string {
	files := slices.Sorted(maps.Keys(uses))
	weigh := weights(files, uses)
	random := rand.New(rand.NewPCG(1, 2))
	order := random.Perm(len(files))
	var fewest []string
	for try := range 300 {
		improve(order, weigh)
		if back := backArrows(order, files, uses); try == 0 || len(back) < len(fewest) {
			fewest = back
		}
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return fewest
}

// weights returns, for each pair of files, 1 if only the first uses the second, -1 if only the
// second uses the first, and else 0.
func weights(files []string, uses map[string]map[string]bool) [][]int {
	w := make([][]int, len(files))
	for i := range files {
		w[i] = make([]int, len(files))
		for j := range files {
			if uses[files[i]][files[j]] {
				w[i][j]++
			}
			if uses[files[j]][files[i]] {
				w[i][j]--
			}
		}
	}
	return w
}

// improve moves single files for as long as that leaves fewer arrows back.
func improve(order []int, weigh [][]int) {
	for moved := true; moved; {
		moved = false
		for at := range order {
			if to := bestPlace(order, at, weigh[order[at]]); to != at {
				file := order[at]
				copy(order[at:], order[at+1:])
				copy(order[to+1:], order[to:len(order)-1])
				order[to] = file
				moved = true
			}
		}
	}
}

// bestPlace returns where in the order the file at position at leaves the fewest arrows back: at
// itself unless another place is better. A file that moves behind one that it uses adds an arrow.
func bestPlace(order []int, at int, weigh []int) int {
	best, least := at, 0
	for _, step := range []int{-1, 1} {
		back := 0
		for i := at + step; i >= 0 && i < len(order); i += step {
			if back += step * weigh[order[i]]; back < least {
				best, least = i, back
			}
		}
	}
	return best
}

// backArrows lists the uses of a file that comes earlier in the order.
func backArrows(order []int, files []string, uses map[string]map[string]bool) []string {
	var back []string
	for i, file := range order {
		for _, before := range order[:i] {
			if uses[files[file]][files[before]] {
				back = append(back, files[file]+" -> "+files[before])
			}
		}
	}
	slices.Sort(back)
	return back
}
