package rule

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
)

// maxFileValues is how many values a file may have.
const maxFileValues = 1_000_000

// A valueFile is a file of values, one a line.
type valueFile struct {
	lines  []string
	places []int // line numbers, from 1
	sum    [sha256.Size]byte
	bad    bool // a problem was noted
}

// file reads a file of values once.
func (b *binder) file(name string) *valueFile {
	if f := b.files[name]; f != nil {
		return f
	}
	f := &valueFile{bad: true}
	b.files[name] = f
	b.fileNames = append(b.fileNames, name)
	if b.read == nil {
		b.problem("reads %s, and no files can be read here; list the values", fileName(name))
		return f
	}
	text, err := b.read(name)
	if err != nil {
		b.problems.Join(wrong(optionField, err, "reads %s: %v", fileName(name), err))
		return f
	}
	if err := f.split(text); err != nil {
		b.problem("reads %s, which %v", fileName(name), err)
		return f
	}
	f.bad = false
	return f
}

// split cuts the lines; empty ones do not count.
func (f *valueFile) split(text []byte) error {
	f.sum = sha256.Sum256(text)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	at := 0
	for line := range bytes.Lines(text) {
		at++
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			continue
		}
		if len(f.lines) == maxFileValues {
			return fmt.Errorf("has more than %d values; use a file of rows", maxFileValues)
		}
		f.lines, f.places = append(f.lines, string(line)), append(f.places, at)
	}
	if len(f.lines) == 0 {
		return errors.New("has no values")
	}
	return nil
}

// fileValues makes the lines of a file values of the field. One line that does not fit is named.
func (b *binder) fileValues(name, of string, f *column.Field) (values []fitted, ok bool) {
	file := b.file(name)
	if file.bad {
		return nil, false
	}
	values = make([]fitted, len(file.lines))
	for i, line := range file.lines {
		l, err := lineLiteral(f, line)
		if err == nil {
			values[i], err = fit(f, &l)
		}
		if err != nil {
			shown := literal{kind: textLiteral, text: line}
			b.problem("compares %s with line %d of %s, %s, %v", describe(of, f), file.places[i], fileName(name), shown.shown(), err)
			return nil, false
		}
	}
	return values, true
}

// lineLiteral is a line of a file as a literal of the kind that a field wants.
func lineLiteral(f *column.Field, line string) (literal, error) {
	numeric := f.Type == column.TypeDecimal || slices.Contains([]column.Type{column.TypeFloat16, column.TypeFloat32, column.TypeFloat64}, f.Type) ||
		integerBits[f.Type] != 0
	if numeric {
		return parseNumberLine(strings.TrimSpace(line))
	}
	if f.Type == column.TypeBool {
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "true":
			return literal{kind: boolLiteral, yes: true}, nil
		case "false":
			return literal{kind: boolLiteral}, nil
		}
	}
	return literal{kind: textLiteral, text: line}, nil
}

// parseNumberLine reads a number as a filter's text has it.
func parseNumberLine(line string) (literal, error) {
	p := &parser{lexer: lexer{text: line}}
	if err := p.scan(); err == nil {
		if t := p.now(); t.kind == digitsToken || t.isSymbol("-") || t.isSymbol("+") || t.kind == wordToken && isNotFinite(t.text) {
			if l, err := p.literal(); err == nil && p.now().kind == endToken {
				return l, nil
			}
		}
	}
	return literal{}, errors.New("which is not a number")
}
