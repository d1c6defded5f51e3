package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNoInternalTypeInPublic: an importer of a public package can name every type of its surface.
func TestNoInternalTypeInPublic(t *testing.T) {
	names, exports := exportFiles(t)
	set := token.NewFileSet()
	from := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []*types.Package
	named := map[types.Object]bool{}
	for _, name := range names {
		p, err := from.Import(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, p)
		for _, n := range p.Scope().Names() {
			if a, ok := p.Scope().Lookup(n).(*types.TypeName); ok && a.Exported() && a.IsAlias() {
				if to, ok := types.Unalias(a.Type()).(*types.Named); ok {
					named[to.Obj()] = true
				}
			}
		}
	}
	for _, p := range all {
		s := surface{pkg: p, named: named, seen: map[types.Type]bool{}}
		for _, n := range p.Scope().Names() {
			if o := p.Scope().Lookup(n); o.Exported() {
				s.object(o)
			}
		}
		for _, found := range s.found {
			t.Error(found)
		}
	}
}

// exportFiles are the module's public packages, and the compiled types of all packages by import
// path.
func exportFiles(t *testing.T) (public []string, exports map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export", "./...")
	cmd.Dir = moduleRoot(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Name, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return public, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		ours := p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")
		if ours && p.Name != "main" && !isInternal(p.ImportPath) {
			public = append(public, p.ImportPath)
		}
	}
}

func isInternal(path string) bool { return strings.Contains(path+"/", "/internal/") }

// A surface is what a package shows.
type surface struct {
	pkg   *types.Package
	named map[types.Object]bool // by an alias in a public package
	at    string
	seen  map[types.Type]bool
	found []string
}

func (s *surface) object(o types.Object) {
	s.at = fmt.Sprintf("%s.%s", s.pkg.Path(), o.Name())
	name, isType := o.(*types.TypeName)
	if !isType {
		s.look(o.Type())
		return
	}
	named, ok := types.Unalias(name.Type()).(*types.Named)
	if !ok {
		s.look(name.Type())
		return
	}
	at := s.at
	s.look(named.Underlying())
	for m := range named.Methods() {
		if m.Exported() {
			s.at = at + "." + m.Name()
			s.look(m.Type())
		}
	}
}

// look goes through a type as far as a user of the package sees it.
func (s *surface) look(t types.Type) {
	if s.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		s.look(types.Unalias(t))
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && isInternal(p.Path()) && strings.HasPrefix(p.Path(), module) && !s.named[t.Obj()] {
			s.found = append(s.found, fmt.Sprintf("%s shows %s", s.at, t.Obj().Pkg().Path()+"."+t.Obj().Name()))
		}
		for a := range t.TypeArgs().Types() {
			s.look(a)
		}
	case *types.Struct:
		s.seen[t] = true
		for f := range t.Fields() {
			if f.Exported() {
				s.look(f.Type())
			}
		}
	case *types.Interface:
		s.seen[t] = true
		for m := range t.Methods() {
			if m.Exported() {
				s.look(m.Type())
			}
		}
	case *types.Signature:
		s.look(t.Params())
		s.look(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.look(v.Type())
		}
	case *types.Map:
		s.look(t.Key())
		s.look(t.Elem())
	case interface{ Elem() types.Type }:
		s.look(t.Elem())
	}
}
