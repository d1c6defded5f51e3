// Command exported lists the exported names of a module that only tests use: functions, types,
// methods, variables and constants that no other code mentions, and struct fields that no other
// code sets. It fails when there are any.
//
//	exported [-allow FILE]
//
// FILE lists names that are there for users of the library, one "package.Name" or
// "package.Type.Name" a line, "package.*" for all of a package; what follows # is a comment. A line
// that allows nothing is an error too.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	allow := flag.String("allow", "tools/exported/allowed.txt", "`file` of names that are there for users")
	flag.Parse()
	if err := run(".", *allow); err != nil {
		fmt.Fprintln(os.Stderr, "exported:", err)
		os.Exit(1)
	}
}

func run(dir, allowFile string) error {
	text, err := os.ReadFile(allowFile)
	if err != nil {
		return err
	}
	pkgs, err := load(dir)
	if err != nil {
		return err
	}
	return report(unused(pkgs), parseAllowed(text), allowFile)
}

// load type-checks the packages of the module in a directory, without tests.
func load(dir string) ([]*packages.Package, error) {
	const mode = packages.NeedName | packages.NeedImports | packages.NeedModule | packages.NeedFiles |
		packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	pkgs, err := packages.Load(&packages.Config{Dir: dir, Mode: mode}, "./...")
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %v", p.PkgPath, p.Errors[0])
		}
	}
	return pkgs, err
}

// allowed is the lines of an allow list and whether each allowed something.
type allowed map[string]bool

func parseAllowed(text []byte) allowed {
	a := allowed{}
	for line := range bytes.Lines(text) {
		name, _, _ := strings.Cut(string(line), "#")
		if name = strings.TrimSpace(name); name != "" {
			a[name] = false
		}
	}
	return a
}

// allows reports whether a line lists the name, its type or its package.
func (a allowed) allows(name string) bool {
	slash := strings.LastIndexByte(name, '/') + 1
	for cut := len(name); cut > slash; cut = slash + strings.LastIndexByte(name[slash:cut], '.') {
		line := name[:cut]
		if !strings.Contains(line[slash:], ".") {
			line += ".*"
		}
		if _, ok := a[line]; ok {
			a[line] = true
			return true
		}
	}
	return false
}

// report is an error that lists the names that are not allowed and the lines that allow nothing.
func report(names []string, a allowed, file string) error {
	var problems []error
	if left := slices.DeleteFunc(slices.Clone(names), a.allows); len(left) > 0 {
		problems = append(problems, fmt.Errorf("only tests use these names; delete them, or say in %s whom they are for:\n\t%s", file, strings.Join(left, "\n\t")))
	}
	maps.DeleteFunc(a, func(_ string, used bool) bool { return used })
	if idle := slices.Sorted(maps.Keys(a)); len(idle) > 0 {
		problems = append(problems, fmt.Errorf("these lines of %s allow nothing; delete them:\n\t%s", file, strings.Join(idle, "\n\t")))
	}
	return errors.Join(problems...)
}
