package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// uses records the objects that a module's code mentions and the fields that it sets.
type uses struct {
	used map[types.Object]bool
	set  map[types.Object]bool
}

// unused returns the sorted exported names that no package uses.
func unused(pkgs []*packages.Package) []string {
	u := uses{used: map[types.Object]bool{}, set: map[types.Object]bool{}}
	for _, p := range pkgs {
		u.read(p)
	}
	interfaces := interfacesOf(pkgs)
	var names []string
	for _, p := range pkgs {
		if p.Name == "main" {
			continue
		}
		short := strings.TrimPrefix(p.PkgPath, p.Module.Path+"/") + "."
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() {
				continue
			}
			if !u.used[o] {
				names = append(names, short+name)
				continue
			}
			if t, ok := o.(*types.TypeName); ok {
				for _, member := range u.members(t, interfaces) {
					names = append(names, short+name+"."+member.Name())
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// read notes what a package uses and sets.
func (u *uses) read(p *packages.Package) {
	for _, o := range p.TypesInfo.Uses {
		u.used[origin(o)] = true
	}
	for _, s := range p.TypesInfo.Selections { // promoted members use what they are promoted through
		u.used[origin(s.Obj())] = true
	}
	for _, f := range p.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			u.inspect(p.TypesInfo, n)
			return true
		})
	}
}

// origin is the generic declaration of an object.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

// inspect notes the fields that a node sets, or hands out so that others can.
func (u *uses) inspect(info *types.Info, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			u.setFields(info, e)
		}
	case *ast.IncDecStmt:
		u.setFields(info, n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			u.setFields(info, n.X)
		}
	case *ast.RangeStmt:
		u.setFields(info, n.Key)
		u.setFields(info, n.Value)
	case *ast.CallExpr: // a method may set what it is called on
		if s, ok := n.Fun.(*ast.SelectorExpr); ok {
			u.setFields(info, s.X)
		}
	case *ast.CompositeLit:
		u.setLiteral(info, n)
	}
}

// setFields notes the fields in x.a.b[i].c.
func (u *uses) setFields(info *types.Info, e ast.Expr) {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if s := info.Selections[e]; s != nil {
			u.set[origin(s.Obj())] = true
		}
		u.setFields(info, e.X)
	case *ast.IndexExpr:
		u.setFields(info, e.X)
	case *ast.SliceExpr:
		u.setFields(info, e.X)
	case *ast.ParenExpr:
		u.setFields(info, e.X)
	case *ast.StarExpr:
		u.setFields(info, e.X)
	}
}

func (u *uses) setLiteral(info *types.Info, n *ast.CompositeLit) {
	t := info.TypeOf(n)
	if p, ok := t.Underlying().(*types.Pointer); ok { // in a literal of pointers
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok {
				u.set[origin(info.Uses[id])] = true
			}
		} else {
			u.set[origin(s.Field(i))] = true
		}
	}
}

// members lists the exported methods and fields of a type that are not used, or never set.
func (u *uses) members(t *types.TypeName, interfaces []*types.Interface) []types.Object {
	named, ok := t.Type().(*types.Named)
	if !ok {
		return nil
	}
	var out []types.Object
	for m := range named.Methods() {
		if m.Exported() && !u.used[origin(m)] && !implemented(named, m, interfaces) {
			out = append(out, m)
		}
	}
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return out
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Exported() && !f.Embedded() && reflect.StructTag(s.Tag(i)) == "" && !u.set[origin(f)] {
			out = append(out, f)
		}
	}
	return out
}

// interfacesOf lists the interfaces with methods that the packages and their imports declare.
func interfacesOf(pkgs []*packages.Package) []*types.Interface {
	out := []*types.Interface{types.Universe.Lookup("error").Type().Underlying().(*types.Interface)}
	seen := map[*types.Package]bool{}
	var add func(p *types.Package)
	add = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			if i, ok := t.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
				out = append(out, i)
			}
		}
		for _, q := range p.Imports() {
			add(q)
		}
	}
	for _, p := range pkgs {
		add(p.Types)
		for _, tv := range p.TypesInfo.Types { // those without a name
			if i, ok := tv.Type.(*types.Interface); ok && tv.IsType() && i.NumMethods() > 0 {
				out = append(out, i)
			}
		}
	}
	return out
}

// implemented reports whether a method belongs to an interface that the type implements. errors.Is
// and its kind look for methods that no declared interface has.
func implemented(t *types.Named, m *types.Func, interfaces []*types.Interface) bool {
	if slices.Contains([]string{"Is", "As", "Unwrap", "String", "Error"}, m.Name()) {
		return true
	}
	for _, i := range interfaces {
		for k := range i.Methods() {
			if k.Name() == m.Name() && (types.Implements(t, i) || types.Implements(types.NewPointer(t), i)) {
				return true
			}
		}
	}
	return false
}
