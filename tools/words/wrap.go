package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// wrapFile refills the paragraphs of full-line comments that pass maxColumns, and leaves all others
// as they are. Lists, indented text, docstrings, expected output of examples and C code stay
// untouched.
func wrapFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	marker := "//"
	if filepath.Ext(path) == ".py" {
		marker = "#"
	}
	wrapped := wrap(string(text), marker)
	if marker == "//" && bytes.Contains(text, []byte("import \"C\"")) || wrapped == string(text) {
		return nil
	}
	return os.WriteFile(path, []byte(wrapped), 0o644)
}

// wrap refills the comments of a file; marker begins each of their lines.
func wrap(text, marker string) string {
	lines := strings.Split(text, "\n")
	var out []string
	for len(lines) > 0 {
		n := 0
		for n < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[n], " \t"), marker) {
			n++
		}
		if n == 0 {
			out, lines = append(out, lines[0]), lines[1:]
			continue
		}
		out, lines = append(out, wrapGroup(lines[:n], marker)...), lines[n:]
	}
	return strings.Join(out, "\n")
}

// special begins a line that is not part of a paragraph, or ends the one above it.
var special = regexp.MustCompile(`^([-+*#|=]|\d+[.)] |Output:|Unordered output:|Deprecated:|TODO)`)

func wrapGroup(lines []string, marker string) []string {
	var out, paragraph []string
	flush := func() {
		out = append(out, fill(paragraph, marker)...)
		paragraph = nil
	}
	listed := false // the lines since the last empty one belong to a list
	for i, line := range lines {
		body, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), marker+" ")
		prose := ok && body != "" && body[0] != ' ' && body[0] != '\t' && !special.MatchString(body)
		if strings.HasPrefix(body, "Output:") || strings.HasPrefix(body, "Unordered output:") {
			flush()
			return append(out, lines[i:]...)
		}
		if strings.TrimSpace(strings.TrimLeft(line, " \t")[len(marker):]) == "" {
			listed = false
		}
		listed = listed || ok && special.MatchString(body)
		if !prose || listed {
			flush()
			out = append(out, line)
			continue
		}
		if len(paragraph) > 0 && indent(line) != indent(paragraph[0]) {
			flush()
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return out
}

func indent(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// fill breaks a paragraph's lines at maxColumns when one of them is wider.
func fill(paragraph []string, marker string) []string {
	wide := false
	var words []string
	for _, line := range paragraph {
		wide = wide || columns(line) > maxColumns
		words = append(words, strings.Fields(strings.TrimPrefix(strings.TrimLeft(line, " \t"), marker))...)
	}
	if !wide {
		return paragraph
	}
	prefix := indent(paragraph[0]) + marker
	lines := []string{prefix}
	for i, word := range words {
		last := len(lines) - 1
		fits := columns(lines[last])+1+columns(word) <= maxColumns
		if i == 0 || fits || special.MatchString(word+" ") {
			lines[last] += " " + word
		} else {
			lines = append(lines, prefix+" "+word)
		}
	}
	return lines
}
