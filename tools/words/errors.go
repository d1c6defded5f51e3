package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// goFile parses a Go file, or returns nil if it has a syntax error, which the compiler reports.
func goFile(text []byte) (*token.FileSet, *ast.File) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return files, nil
	}
	return files, file
}

// constructors adds the names of the functions of a Go file that make an error from a text: those
// that return one error and take a string, or arguments of a format.
func constructors(text []byte, names map[string]bool) {
	_, file := goFile(text)
	if file == nil {
		return
	}
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if ok && f.Name.Name != "Set" && returnsError(f.Type) && takesText(f.Type) {
			names[f.Name.Name] = true
		}
	}
}

func returnsError(f *ast.FuncType) bool {
	if f.Results == nil || len(f.Results.List) != 1 {
		return false
	}
	name := typeName(f.Results.List[0].Type)
	return name == "error" || strings.HasSuffix(name, "Error")
}

func takesText(f *ast.FuncType) bool {
	for _, parameter := range f.Params.List {
		switch t := parameter.Type.(type) {
		case *ast.Ident:
			if t.Name == "string" {
				return true
			}
		case *ast.Ellipsis:
			return true
		}
	}
	return false
}

// typeName returns the last name of a type: Error of *shard.Error.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	return ""
}

// goErrors returns the texts of a Go file's errors: string literals in arguments of constructors,
// and in fields of structs whose type is an error.
func goErrors(text []byte, names map[string]bool) []Comment {
	files, file := goFile(text)
	if file == nil {
		return nil
	}
	seen := map[token.Pos]bool{}
	var texts []Comment
	collect := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || seen[literal.Pos()] {
				return true
			}
			seen[literal.Pos()] = true
			if value, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(value, " ") {
				texts = append(texts, Comment{Line: files.Position(literal.Pos()).Line, Text: value})
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if makesError(n.Fun, names) {
				for _, argument := range n.Args {
					collect(argument)
				}
			}
		case *ast.CompositeLit:
			if strings.HasSuffix(typeName(n.Type), "Error") {
				collect(n)
			}
		}
		return true
	})
	return texts
}

// makesError reports whether f is errors.New, fmt.Errorf or a constructor of the repository.
func makesError(f ast.Expr, names map[string]bool) bool {
	name := typeName(f)
	if selector, ok := f.(*ast.SelectorExpr); ok && typeName(selector.X) == "errors" && name == "New" {
		return true
	}
	return name == "Errorf" || names[name]
}
