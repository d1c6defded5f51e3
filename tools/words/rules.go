package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// rules are the limits and turns of words.txt.
type rules struct {
	turns, wide float64 // most lines at fault, in percent
	turn, plain *regexp.Regexp
}

// readRules reads a file of lines: "limit turns PERCENT", "limit wide PERCENT", "turn REGEXP",
// "plain REGEXP" (what holds a turn's words and is plain English all the same). Regular expressions
// match whole words, in any case.
func readRules(path string) (rules, error) {
	r := rules{turns: -1, wide: -1}
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	var turns, plain []string
	for i, line := range strings.Split(string(text), "\n") {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case kind == "" || strings.HasPrefix(kind, "#"):
		case kind == "turn" && rest != "":
			turns = append(turns, rest)
		case kind == "plain" && rest != "":
			plain = append(plain, rest)
		case holds(line, "limit turns %g", &r.turns), holds(line, "limit wide %g", &r.wide):
		default:
			return r, fmt.Errorf("%s:%d: want limit, turn or plain, got %q", path, i+1, line)
		}
	}
	if r.turns < 0 || r.wide < 0 || len(turns) == 0 {
		return r, fmt.Errorf("%s: want the limits turns and wide, and at least one turn", path)
	}
	if r.turn, err = words(turns); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	r.plain, err = words(plain)
	return r, err
}

func holds(line, format string, limit *float64) bool {
	n, _ := fmt.Sscanf(line, format, limit)
	return n == 1
}

func words(alternatives []string) (*regexp.Regexp, error) {
	if len(alternatives) == 0 {
		return regexp.MustCompile(`$.^`), nil
	}
	return regexp.Compile(`(?i)\b(?:` + strings.Join(alternatives, "|") + `)\b`)
}

// find returns the first archaic turn of a line, or nothing.
func (r rules) find(text string) string {
	return r.turn.FindString(r.plain.ReplaceAllString(text, "."))
}
