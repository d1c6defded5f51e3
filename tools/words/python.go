package main

import "strings"

// pythonErrors returns the texts of a Python file's raise statements: the string literals in each.
func pythonErrors(text []byte) []Comment {
	s := pythonScanner{text: string(text), line: 1, start: true}
	for s.at < len(s.text) {
		s.next()
	}
	return s.texts
}

// pythonScanner walks over a Python file and keeps the strings of raise statements.
type pythonScanner struct {
	text     string
	at, line int
	depth    int  // of open brackets
	start    bool // of a statement
	raising  bool // in a raise statement
	texts    []Comment
}

// next passes one character, comment, name or string.
func (s *pythonScanner) next() {
	switch c := s.text[s.at]; {
	case c == '\n':
		s.at, s.line = s.at+1, s.line+1
		if s.depth == 0 {
			s.start, s.raising = true, false
		}
	case c == ' ' || c == '\t':
		s.at++
	case c == '#':
		s.skip(strings.IndexByte(s.text[s.at:], '\n'))
	case c == '"' || c == '\'':
		s.string(c)
	case isLetter(c):
		s.name()
	default:
		if strings.IndexByte("([{", c) >= 0 {
			s.depth++
		} else if strings.IndexByte(")]}", c) >= 0 {
			s.depth--
		}
		s.at, s.start = s.at+1, false
	}
}

func (s *pythonScanner) name() {
	begin := s.at
	for s.at < len(s.text) && isLetter(s.text[s.at]) {
		s.at++
	}
	if s.start && s.text[begin:s.at] == "raise" {
		s.raising = true
	}
	s.start = false
}

// string passes a string literal, and keeps it if a raise statement has it.
func (s *pythonScanner) string(quote byte) {
	quotes := string(quote)
	if triple := strings.Repeat(quotes, 3); strings.HasPrefix(s.text[s.at:], triple) {
		quotes = triple
	}
	s.at, s.start = s.at+len(quotes), false
	begin := s.at
	for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], quotes) {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	value := s.text[begin:min(s.at, len(s.text))]
	if s.raising && strings.Contains(value, " ") {
		s.texts = append(s.texts, Comment{Line: s.line, Text: value})
	}
	s.line += strings.Count(value, "\n")
	s.at += len(quotes)
}

// skip passes n bytes, or the rest if n is negative.
func (s *pythonScanner) skip(n int) {
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
