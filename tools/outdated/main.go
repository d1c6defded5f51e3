// Outdated reports which modules are old: over a year behind a newer release, ten minor versions
// behind, retracted or deprecated.
//
//	go list -m -u -e -json MODULE... | outdated [-strict] [-allow FILE]
//
// If the module proxy does not answer, it prints that it checked nothing. With -strict a finding is
// a failure: a release must not ship old modules, while a commit that changed nothing must not fail
// because time passed. FILE lists the exceptions, a line each: module, version, reason.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Module is the output of `go list -m -u -json` for a module.
type Module struct {
	Path       string
	Version    string
	Time       *time.Time
	Update     *Module
	Deprecated string
	Retracted  []string
	Replace    *Module
	Error      *struct{ Err string }
}

func main() {
	strict := flag.Bool("strict", false, "fail when a module is old")
	allow := flag.String("allow", "", "file of exceptions: module, version, reason")
	flag.Parse()
	old, err := run(os.Stdin, os.Stdout, *allow)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "outdated:", err)
		os.Exit(1)
	case old > 0 && *strict:
		os.Exit(1)
	}
}

// run prints the findings and returns how many there are.
func run(listed io.Reader, out io.Writer, allow string) (int, error) {
	exceptions, err := readExceptions(allow)
	if err != nil {
		return 0, err
	}
	modules, err := decode(listed)
	if err != nil {
		return 0, err
	}
	for _, m := range modules {
		if m.Error != nil {
			fmt.Fprintln(out, "outdated: SKIPPED, nothing was checked: the module proxy did not answer:", m.Error.Err)
			return 0, nil
		}
	}
	findings, allowed := judge(modules, exceptions, time.Now())
	if lines := resting(modules, time.Now()); len(lines) > 0 {
		fmt.Fprintln(out, "outdated: over a year old, with nothing newer:", strings.Join(lines, ", "))
	}
	for _, line := range allowed {
		fmt.Fprintln(out, "outdated: allowed:", line)
	}
	for _, line := range findings {
		fmt.Fprintln(out, "outdated: WARNING:", line)
	}
	fmt.Fprintf(out, "outdated: %d of %d linked modules are too old\n", len(findings), len(modules))
	return len(findings), nil
}

func decode(listed io.Reader) ([]Module, error) {
	var modules []Module
	for dec := json.NewDecoder(listed); ; {
		var m Module
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		modules = append(modules, m)
	}
}
