package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shape is how long the module's files and functions are, in lines, and how much code there is,
// tests counted apart.
type shape struct {
	files, funcs []int
	code, tests  int
}

// TestShape keeps files and functions short: nine in ten files under 400 lines, nine in ten
// functions under 40, at most one in twenty over 60, and 0.7 lines of test for a line of code,
// blank lines and comments counted in neither.
func TestShape(t *testing.T) {
	s := measure(t, moduleRoot(t))
	if p90 := percentile(s.files, 90); p90 >= 400 {
		t.Errorf("one file in ten has %d lines or more, want under 400", p90)
	}
	if p90 := percentile(s.funcs, 90); p90 >= 40 {
		t.Errorf("one function in ten has %d lines or more, want under 40", p90)
	}
	long := 0
	for _, n := range s.funcs {
		if n > 60 {
			long++
		}
	}
	if long*20 > len(s.funcs) {
		t.Errorf("%d of %d functions have more than 60 lines, want at most one in twenty", long, len(s.funcs))
	}
	if s.tests*10 < s.code*7 {
		t.Errorf("%d lines of test for %d lines of code, want 0.7 for each", s.tests, s.code)
	}
	t.Logf("%d files, median %d lines; %d functions, median %d lines; %d lines of code, %d of test",
		len(s.files), percentile(s.files, 50), len(s.funcs), percentile(s.funcs, 50), s.code, s.tests)
}

// measure reads every Go file of the module at root.
func measure(t *testing.T, root string) shape {
	t.Helper()
	var s shape
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || path == filepath.Join(root, "tools")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		code := codeLines(text)
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") { // shardtest, leaktest
			s.tests += code
			return nil
		}
		s.code += code
		s.files = append(s.files, bytes.Count(text, []byte("\n")))
		s.funcs = append(s.funcs, functions(t, path, text)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.files)
	slices.Sort(s.funcs)
	return s
}

// codeLines counts the lines that are neither blank nor a comment.
func codeLines(text []byte) (count int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			count++
		}
	}
	return count
}

// functions lists the lengths of the functions of a file.
func functions(t *testing.T, path string, text []byte) (lengths []int) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			lengths = append(lengths, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
		}
	}
	return lengths
}

// percentile is the value that p in a hundred of the sorted lengths stay below.
func percentile(sorted []int, p int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
