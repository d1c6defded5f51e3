package main

import (
	"bytes"
	"fmt"
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
	if err := run(&out, path, true, nil); err != nil {
		t.Errorf("25 %% each: %v", err)
	}
	for _, want := range []string{`p.go:3: "anew": anew`, "p.go:4: 101 columns", "1 of 4 comment lines hold", "1 of 4 full-line comments pass"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwithout %q", out.String(), want)
		}
	}
	if err := run(&out, config(t, "limit turns 20\nlimit wide 40\n"), false, nil); err == nil {
		t.Error("25 % with a limit of 20 % is no error")
	}
}

func git(args ...string) error {
	return exec.Command("git", args...).Run()
}
