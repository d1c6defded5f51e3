package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// TestNoSetenv: no code outside of tests changes the environment of its process. A process serves
// several trainers, each with an environment of its own, and what one of them set would show in
// another.
func TestNoSetenv(t *testing.T) {
	for _, p := range packages(t) {
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			for _, place := range setsEnvironment(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%v: os.Setenv and its like are for tests alone (t.Setenv)", place)
			}
		}
	}
}

// setsEnvironment lists where a file calls os.Setenv, os.Unsetenv or os.Clearenv, or their like of
// package syscall.
func setsEnvironment(t *testing.T, path string) (places []token.Position) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		if ok && (pkg.Name == "os" || pkg.Name == "syscall") && slices.Contains([]string{"Setenv", "Unsetenv", "Clearenv"}, s.Sel.Name) {
			places = append(places, set.Position(n.Pos()))
		}
		return true
	})
	return places
}
