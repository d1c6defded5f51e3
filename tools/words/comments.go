package main

import (
	"go/scanner"
	"go/token"
	"strings"
)

// goComments returns the lines of a Go file's comments that hold words, without directives such as
// //go:build.
func goComments(text []byte) []Comment {
	var comments []Comment
	lines := strings.Split(string(text), "\n")
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return comments
		}
		if tok != token.COMMENT || strings.HasPrefix(literal, "//go:") {
			continue
		}
		first := file.Line(pos)
		for i, line := range strings.Split(literal, "\n") {
			full := i > 0 || strings.HasPrefix(strings.TrimSpace(lines[first-1]), "/")
			comments = add(comments, first+i, strings.Trim(line, "/* \t\r"), lines[first+i-1], full)
		}
	}
}

// pythonComments returns the lines of a Python file's comments and docstrings that hold words. A
// docstring is a triple-quoted string at the start of a line.
func pythonComments(text []byte) []Comment {
	var comments []Comment
	var quotes string // of the triple-quoted string that is open
	var document bool // it is a docstring
	for i, line := range strings.Split(string(text), "\n") {
		number := i + 1
		if quotes != "" {
			inside, _, closed := strings.Cut(line, quotes)
			if document {
				comments = add(comments, number, inside, line, true)
			}
			if closed {
				quotes = ""
			}
			continue
		}
		trimmed := strings.TrimLeft(line, " \t")
		begins := strings.TrimLeft(trimmed, "rRfFbBuU")
		at, opened := scanPython(line)
		switch {
		case at >= 0:
			full := strings.HasPrefix(trimmed, "#")
			comments = add(comments, number, line[at+1:], line, full)
		case strings.HasPrefix(begins, `"""`) || strings.HasPrefix(begins, `'''`):
			inside, _, _ := strings.Cut(begins[3:], begins[:3])
			comments = add(comments, number, inside, line, true)
		}
		quotes, document = opened, opened != "" && strings.HasPrefix(begins, opened)
	}
	return comments
}

// scanPython returns the offset of a line's comment, or -1, and the quotes of a triple-quoted
// string that is still open at the end. The line must start outside of strings.
func scanPython(line string) (comment int, open string) {
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '#':
			return i, ""
		case '"', '\'':
			quote := string(c)
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(line[i:], triple) {
				end := strings.Index(line[i+3:], triple)
				if end < 0 {
					return -1, triple
				}
				i += 3 + end + 3
				continue
			}
			i++
			for i < len(line) && line[i] != c {
				if line[i] == '\\' {
					i++
				}
				i++
			}
			i++
		default:
			i++
		}
	}
	return -1, ""
}

// add appends a line that holds words.
func add(comments []Comment, number int, text, line string, full bool) []Comment {
	if strings.TrimSpace(text) == "" {
		return comments
	}
	c := Comment{Line: number, Text: text}
	if full {
		c.Width = columns(strings.TrimRight(line, " \t\r"))
	}
	return append(comments, c)
}
