// Words measures how plainly the comments and error texts of the repository are written, and fails
// when they get worse.
//
//	words [-list] [-limits] [FILE...]
//
// It counts the comment lines of Go and Python, docstrings included, that hold an archaic turn of
// words.txt, and the full-line comments wider than 100 columns (a tab is 4). Both rates have a
// limit in words.txt.
//
// It also counts, by package and without tests, the comment lines and the texts of errors that hold
// an idiom of words_ratchet.txt, which has the most findings of each package. Texts of errors are
// string literals given to errors.New, fmt.Errorf and functions that make errors, fields of errors,
// and the strings of Python's raise statements.
//
// -list prints the place of each finding, -limits the findings of each package as limits. Without
// files it reads all that git knows, from the root of the repository.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 100
	tabColumns = 4
)

// Comment is one line of a comment.
type Comment struct {
	Line  int
	Text  string
	Width int // columns to its end; 0 behind code
}

// Count is how many lines were looked at, and how many are at fault.
type Count struct {
	Lines, Turns  int
	Full, TooWide int // full-line comments
}

func main() {
	list := flag.Bool("list", false, "print the place of each finding")
	limits := flag.Bool("limits", false, "print the findings of each package as limits")
	config := flag.String("config", "tools/words.txt", "limits and turns")
	ratchet := flag.String("ratchet", "tools/words_ratchet.txt", "idioms and the limits of packages")
	flag.Parse()
	o := options{config: *config, ratchet: *ratchet, list: *list, limits: *limits, files: flag.Args()}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

type options struct {
	config, ratchet string // files
	list, limits    bool
	files           []string
}

func run(out io.Writer, o options) error {
	rules, err := readRules(o.config)
	if err != nil {
		return err
	}
	ratchet, err := readRatchet(o.ratchet)
	if err != nil {
		return err
	}
	all := len(o.files) == 0
	if all {
		if o.files, err = tracked(); err != nil {
			return err
		}
	}
	var listing io.Writer = io.Discard
	if o.list {
		listing = out
	}
	if err := ratchet.learn(o.files); err != nil {
		return err
	}
	var total Count
	for _, file := range o.files {
		if err := measure(listing, file, rules, ratchet, &total); err != nil {
			return err
		}
	}
	if o.limits {
		ratchet.print(out)
		return nil
	}
	idioms := ratchet.check(out, o.ratchet)
	turns, wide := percent(total.Turns, total.Lines), percent(total.TooWide, total.Full)
	fmt.Fprintf(out, "words: %d of %d comment lines hold an archaic turn (%.2f %%, limit %.2f %%)\n", total.Turns, total.Lines, turns, rules.turns)
	fmt.Fprintf(out, "words: %d of %d full-line comments pass %d columns (%.2f %%, limit %.2f %%)\n", total.TooWide, total.Full, maxColumns, wide, rules.wide)
	if !all {
		return nil
	}
	if turns > rules.turns+0.005 || wide > rules.wide+0.005 {
		return fmt.Errorf("a rate is above its limit in %s; bin/words -list shows the lines", o.config)
	}
	return idioms
}

// measure adds a file's lines to the counts and lists its findings.
func measure(listing io.Writer, file string, rules rules, ratchet *ratchet, total *Count) error {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil // deleted, and git still knows it
	} else if err != nil {
		return err
	}
	var comments []Comment
	if filepath.Ext(file) == ".go" {
		comments = goComments(text)
	} else {
		comments = pythonComments(text)
	}
	ratchet.measure(listing, file, text, comments)
	for _, c := range comments {
		total.Lines++
		if turn := rules.find(c.Text); turn != "" {
			total.Turns++
			fmt.Fprintf(listing, "%s:%d: %q: %s\n", file, c.Line, turn, strings.TrimSpace(c.Text))
		}
		if c.Width == 0 {
			continue
		}
		total.Full++
		if c.Width > maxColumns {
			total.TooWide++
			fmt.Fprintf(listing, "%s:%d: %d columns\n", file, c.Line, c.Width)
		}
	}
	return nil
}

// tracked lists the Go and Python files that git knows or would add.
func tracked() ([]string, error) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.py").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	return strings.Fields(string(out)), nil
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// columns is the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabColumns-1)
}
