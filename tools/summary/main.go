// Summary prints what `go test -json` reports as `go test` would, and then the skipped tests with
// their reasons.
//
//	go test -json ./... | summary
//
// A passing package is one line. A failing one shows the output of its failed tests. `go test
// ./...` hides the reasons for skips; this lists each reason once, with the number of tests and
// where they are. It exits with 1 when anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// Event is one line of `go test -json`; see `go doc test2json`.
type Event struct {
	Action     string
	Package    string
	Test       string
	Output     string
	ImportPath string // of build-output and build-fail
}

func main() {
	failed, err := Summarise(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// Summarise copies the report and returns whether a test, a package or a build failed. Lines that
// are not JSON pass through.
func Summarise(in io.Reader, out io.Writer) (failed bool, err error) {
	r := report{out: out, tests: map[string]*strings.Builder{}, skips: map[string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e Event
			if json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line)
			} else {
				r.add(e)
			}
		}
		if err == io.EOF {
			break
		} else if err != nil {
			return r.failed, err
		}
	}
	r.printSkips()
	return r.failed, nil
}

type report struct {
	out    io.Writer
	tests  map[string]*strings.Builder // output of unfinished tests by package and name; of packages by the name ""
	skips  map[string][]string         // skipped tests by reason
	failed bool
}

func (r *report) add(e Event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.keep(key, e.Output)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed = true
	case "skip":
		if e.Test == "" { // a package without tests
			break
		}
		reason := reasonOf(r.text(key))
		r.skips[reason] = append(r.skips[reason], strings.TrimSpace(shortName(e.Package)+" "+e.Test))
	case "fail":
		r.failed = true
		fmt.Fprint(r.out, r.text(key))
	case "pass":
		if e.Test == "" {
			fmt.Fprint(r.out, lastLine(r.text(key)))
		}
	}
	switch e.Action {
	case "skip", "fail", "pass":
		delete(r.tests, key)
	}
}

func (r *report) keep(key, output string) {
	if r.tests[key] == nil {
		r.tests[key] = &strings.Builder{}
	}
	r.tests[key].WriteString(output)
}

func (r *report) text(key string) string {
	if b := r.tests[key]; b != nil {
		return b.String()
	}
	return ""
}

// printSkips prints reasons by the number of tests that they kept from running.
func (r *report) printSkips() {
	if len(r.skips) == 0 {
		return
	}
	var reasons []string
	total := 0
	for reason, tests := range r.skips {
		reasons = append(reasons, reason)
		total += len(tests)
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := reasons[i], reasons[j]
		return len(r.skips[a]) > len(r.skips[b]) || len(r.skips[a]) == len(r.skips[b]) && a < b
	})
	fmt.Fprintf(r.out, "\nskipped: %d tests\n", total)
	for _, reason := range reasons {
		tests := r.skips[reason]
		fmt.Fprintf(r.out, "  %4d  %s (%s)\n", len(tests), reason, examples(tests))
	}
}

// examples names the first tests.
func examples(tests []string) string {
	if len(tests) <= 2 {
		return strings.Join(tests, ", ")
	}
	return fmt.Sprintf("%s and %d more", tests[0], len(tests)-1)
}

// reasonOf is the text that the test gave to t.Skip: the first line with a position, without it.
func reasonOf(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") || line == "" {
			continue
		}
		if position, reason, ok := strings.Cut(line, ": "); ok && strings.Contains(position, ".go:") {
			return reason
		}
	}
	return "no reason given"
}

func shortName(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "github.com/shardfeed/shardfeed"), "/")
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndex(s, "\n")+1:] + "\n"
}
