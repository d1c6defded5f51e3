package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// found counts the lines of a package's comments, and the texts of its errors, that hold an idiom.
type found struct {
	comments, errors            int
	commentLines, strict, texts int
}

// ratchet has the idioms and the most findings of each package.
type ratchet struct {
	idioms rules
	strict rules
	limits map[string]found
	// constructors are the names of functions that make errors.
	constructors map[string]bool
	found        map[string]*found
}

// readRatchet reads a file of lines: "turn REGEXP", "weak REGEXP" (a turn that is often plain
// English), "plain REGEXP", and "limit PACKAGE COMMENTS ERRORS". Other packages have the limit 0.
func readRatchet(file string) (*ratchet, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &ratchet{limits: map[string]found{}, constructors: map[string]bool{}, found: map[string]*found{}}
	var turns, weak, plain []string
	for i, line := range strings.Split(string(text), "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var name string
		var limit found
		switch {
		case kind == "" || strings.HasPrefix(kind, "#"):
		case kind == "turn" && rest != "":
			turns = append(turns, rest)
		case kind == "weak" && rest != "":
			weak = append(weak, rest)
		case kind == "plain" && rest != "":
			plain = append(plain, rest)
		case scans(line, "limit %s %d %d", &name, &limit.comments, &limit.errors):
			r.limits[name] = limit
		default:
			return nil, fmt.Errorf("%s:%d: want turn, weak, plain or limit, got %q", file, i+1, line)
		}
	}
	if len(turns) == 0 {
		return nil, fmt.Errorf("%s: want at least one turn", file)
	}
	if r.strict.turn, err = words(turns); err == nil {
		r.idioms.turn, err = words(append(turns, weak...))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.strict.plain, err = words(plain)
	r.idioms.plain = r.strict.plain
	return r, err
}

func scans(line, format string, values ...any) bool {
	n, _ := fmt.Sscanf(line, format, values...)
	return n == len(values)
}

// isTest reports whether a file is part of tests, whose words the ratchet does not count.
func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/tests/") || strings.Contains("/"+file, "/testdata/")
}

// learn finds the constructors of errors in the given files.
func (r *ratchet) learn(files []string) error {
	for _, file := range files {
		if filepath.Ext(file) != ".go" || isTest(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return err
		}
		constructors(text, r.constructors)
	}
	return nil
}

// measure counts the idioms of a file and lists them.
func (r *ratchet) measure(listing io.Writer, file string, text []byte, comments []Comment) {
	if isTest(file) {
		return
	}
	f := r.of(path.Dir(file))
	for _, c := range comments {
		f.commentLines++
		if r.strict.find(c.Text) != "" {
			f.strict++
		}
		if turn := r.idioms.find(c.Text); turn != "" {
			f.comments++
			fmt.Fprintf(listing, "%s:%d: idiom %q: %s\n", file, c.Line, turn, strings.TrimSpace(c.Text))
		}
	}
	texts := pythonErrors
	if filepath.Ext(file) == ".go" {
		texts = func(text []byte) []Comment { return goErrors(text, r.constructors) }
	}
	for _, e := range texts(text) {
		f.texts++
		if turn := r.idioms.find(e.Text); turn != "" {
			f.errors++
			fmt.Fprintf(listing, "%s:%d: idiom %q in an error: %s\n", file, e.Line, turn, strings.TrimSpace(e.Text))
		}
	}
}

func (r *ratchet) of(name string) *found {
	f := r.found[name]
	if f == nil {
		f = &found{}
		r.found[name] = f
	}
	return f
}

// check prints the totals and returns an error that names the packages above their limit.
func (r *ratchet) check(out io.Writer, config string) error {
	var total found
	var above []string
	for _, name := range slices.Sorted(maps.Keys(r.found)) {
		f, limit := r.found[name], r.limits[name]
		total.comments += f.comments
		total.errors += f.errors
		total.commentLines += f.commentLines
		total.strict += f.strict
		total.texts += f.texts
		if f.comments > limit.comments || f.errors > limit.errors {
			above = append(above, fmt.Sprintf("%s has %d comments and %d errors, limits are %d and %d", name, f.comments, f.errors, limit.comments, limit.errors))
		}
	}
	fmt.Fprintf(out, "words: %d of %d comment lines hold an idiom (%.2f %%, strict %.2f %%), and %d of %d error texts (%.2f %%)\n",
		total.comments, total.commentLines, percent(total.comments, total.commentLines), percent(total.strict, total.commentLines),
		total.errors, total.texts, percent(total.errors, total.texts))
	if len(above) > 0 {
		return fmt.Errorf("idioms above the limit of %s: %s; bin/words -list shows the lines", config, strings.Join(above, "; "))
	}
	return nil
}

// print writes the findings of each package as a line that limits them.
func (r *ratchet) print(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(r.found)) {
		if f := r.found[name]; f.comments > 0 || f.errors > 0 {
			fmt.Fprintf(out, "limit %s %d %d\n", name, f.comments, f.errors)
		}
	}
}
