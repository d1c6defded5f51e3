package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoComments(t *testing.T) {
	const text = "//go:build linux\n\n// Package p\n//\n//\tindented\npackage p\n\nvar s = \"// anew\" // behind code\n/* block\n   goes on */\n"
	got := fmt.Sprint(goComments([]byte(text)))
	if want := "[{3 Package p 12} {5 indented 14} {8 behind code 0} {9 block 8} {10 goes on 13}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPythonComments(t *testing.T) {
	const text = `"""Module.

More.
"""
x = "# not one"  # behind code
# full
y = """data
of a string # not one
"""
def f():
    """One line."""
    return 'it\'s' + "\"" # tail
`
	got := fmt.Sprint(pythonComments([]byte(text)))
	want := "[{1 Module. 10} {3 More. 5} {5  behind code 0} {6  full 6} {11 One line. 19} {12  tail 0}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func config(t *testing.T, limits string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(path, []byte(limits+"turn anew\nturn is no \\w+\nplain there is no\nplain is no longer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	rules, err := readRules(config(t, "limit turns 1\nlimit wide 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"it starts Anew.", "Anew"},
		{"it is no number", "is no number"},
		{"there is no number", ""},
		{"it is no longer open", ""},
		{"canew", ""},
	} {
		t.Run(test.text, func(t *testing.T) {
			if got := rules.find(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	for _, test := range []struct{ name, limits, want string }{
		{"no limits", "", "want the limits turns and wide"},
		{"another word", "limit turns 1\nlimit wide 2\nphrase x\n", "words.txt:3: want limit, turn or plain"},
		{"a limit that is not a number", "limit turns few\n", "words.txt:1: want limit, turn or plain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := readRules(config(t, test.limits)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A rate above its limit is an error.
func TestRun(t *testing.T) {
	path := config(t, "limit turns 30\nlimit wide 40\n")
	var out bytes.Buffer
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"init", "-q"}} {
		if err := git(args...); err != nil {
			t.Skip("git is missing: ", err)
		}
	}
	wide := "// " + strings.Repeat("x", 98) + "\n"
	source := "package p\n\n// anew\n" + wide + "// plain\n// plain\n"
	if err := os.WriteFile("p.go", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	ratchet := ratchetFile(t, "limit . 0 0\n")
	if err := run(&out, options{config: path, ratchet: ratchet, list: true}); err != nil {
		t.Errorf("25 %% each: %v", err)
	}
	for _, want := range []string{`p.go:3: "anew": anew`, "p.go:4: 101 columns", "1 of 4 comment lines hold", "1 of 4 full-line comments pass"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwithout %q", out.String(), want)
		}
	}
	if err := run(&out, options{config: config(t, "limit turns 20\nlimit wide 40\n"), ratchet: ratchet}); err == nil {
		t.Error("25 % with a limit of 20 % is no error")
	}
}

func TestGoErrors(t *testing.T) {
	const text = `package p

import ("errors"; "fmt")

type PlainError struct{ Hint string }

func wrong(format string, args ...any) error { return fmt.Errorf("it is %w", fmt.Errorf(format, args...)) }

func f() error {
	_ = "no error text"
	_ = errors.New("one text")
	_ = wrong("two " + "texts of it", "word")
	return &PlainError{Hint: "three words here"}
}
`
	names := map[string]bool{}
	constructors([]byte(text), names)
	got := fmt.Sprint(names, goErrors([]byte(text), names))
	if want := "map[wrong:true] [{7 it is %w 0} {11 one text 0} {12 two  0} {12 texts of it 0} {13 three words here 0}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPythonErrors(t *testing.T) {
	const text = `"""raise no text"""
x = "raise no text"
if x:
    raise ValueError(
        f"first {x}"  # raise "no text"
        'it\'s second'
    )
y = ["no", "raise of it"]
raise KeyError("key") from TypeError("""third word
text""")
`
	got := fmt.Sprint(pythonErrors([]byte(text)))
	if want := `[{5 first {x} 0} {6 it\'s second 0} {9 third word
text 0}]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func ratchetFile(t *testing.T, limits string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "words_ratchet.txt")
	if err := os.WriteFile(path, []byte("turn becomes of\nweak alone\nplain left alone\n"+limits), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A package may have as many comments and errors with an idiom as its limit allows; the default
// limit is 0. Tests do not count.
func TestRatchet(t *testing.T) {
	const text = "package p\n\nimport \"errors\"\n\n// what becomes of x, left alone\nvar x = errors.New(\"x alone is wrong\")\n"
	for _, test := range []struct{ name, file, limits, want string }{
		{"at the limit", "p/p.go", "limit p 1 1\n", ""},
		{"a comment above it", "p/p.go", "limit p 0 1\n", "p has 1 comments and 1 errors, limits are 0 and 1"},
		{"an error above it", "p/p.go", "limit p 1 0\n", "p has 1 comments and 1 errors, limits are 1 and 0"},
		{"no limit", "p/p.go", "limit q 1 1\n", "p has 1 comments and 1 errors, limits are 0 and 0"},
		{"a test", "p/p_test.go", "", ""},
		{"no number", "p/p.go", "limit p few 1\n", "words_ratchet.txt:4: want turn, weak, plain or limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := measureOne(test.file, text, ratchetFile(t, test.limits))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func measureOne(file, text, limits string) error {
	r, err := readRatchet(limits)
	if err != nil {
		return err
	}
	r.measure(io.Discard, file, []byte(text), goComments([]byte(text)))
	return r.check(io.Discard, limits)
}

func TestPrintedLimitsHold(t *testing.T) {
	r, err := readRatchet(ratchetFile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("# x alone\nraise E('what becomes of it')\n")
	r.measure(io.Discard, "p/x.py", text, pythonComments(text))
	var out bytes.Buffer
	r.print(&out)
	if want := "limit p 1 1\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func git(args ...string) error {
	return exec.Command("git", args...).Run()
}
