// Outdated reports which of the modules linked into the programs are old: over a year behind a
// newer release, ten minor versions behind, retracted or deprecated. It asks the module proxy;
// without one it says that it checked nothing.
//
//	outdated [-strict] [-allow FILE] [PACKAGE...]
//
// It runs in the module's root. With -strict a finding is a failure: a release must not ship old
// modules, while a commit that changed nothing must not fail because time passed. FILE lists the
// exceptions, a line each: module, version, reason.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"
)

// Module is what `go list -m -u -json` prints of a module.
type Module struct {
	Path       string
	Version    string
	Time       *time.Time
	Update     *Module
	Deprecated string
	Retracted  []string
	Main       bool
	Replace    *Module
	Error      *struct{ Err string }
}

func main() {
	strict := flag.Bool("strict", false, "fail when a module is old")
	allow := flag.String("allow", "", "file of exceptions: module, version, reason")
	flag.Parse()
	old, err := run(os.Stdout, *allow, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "outdated:", err)
		os.Exit(1)
	case old > 0 && *strict:
		os.Exit(1)
	}
}

// run prints the findings and returns how many there are. A proxy that cannot be reached is said,
// and is not an error.
func run(out io.Writer, allow string, packages []string) (int, error) {
	exceptions, err := readExceptions(allow)
	if err != nil {
		return 0, err
	}
	if proxy, err := command("go", "env", "GOPROXY"); err == nil && strings.TrimSpace(string(proxy)) == "off" {
		skip(out, "GOPROXY is off")
		return 0, nil
	}
	paths, err := linked(packages)
	if err != nil {
		return 0, err
	}
	listed, err := command("go", append([]string{"list", "-m", "-u", "-e", "-json"}, paths...)...)
	if err != nil {
		return 0, err
	}
	modules, err := decode(listed)
	if err != nil {
		return 0, err
	}
	for _, m := range modules {
		if m.Error != nil {
			skip(out, "the module proxy did not answer: "+m.Error.Err)
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

func skip(out io.Writer, why string) {
	fmt.Fprintln(out, "outdated: SKIPPED, nothing was checked:", why)
}

// linked returns the modules whose packages the given ones link, in order, without the main module.
func linked(packages []string) ([]string, error) {
	listed, err := command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}, packages...)...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var paths []string
	for _, path := range strings.Fields(string(listed)) {
		if !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("the packages link no modules")
	}
	sort.Strings(paths)
	return paths, nil
}

func command(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

func decode(listed []byte) ([]Module, error) {
	var modules []Module
	for dec := json.NewDecoder(bytes.NewReader(listed)); ; {
		var m Module
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		modules = append(modules, m)
	}
}
