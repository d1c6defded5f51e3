package normal

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/property"
)

// A Replace replaces each place that has Old by New.
type Replace struct{ Old, New string }

// Append implements [Normalizer].
func (r Replace) Append(dst, text []byte) (out []byte, changed bool) {
	if r.Old == "" {
		return dst, false
	}
	old := []byte(r.Old)
	for {
		i := bytes.Index(text, old)
		if i < 0 {
			break
		}
		dst = append(append(dst, text[:i]...), r.New...)
		text = text[i+len(old):]
		changed = true
	}
	if !changed {
		return dst, false
	}
	return append(dst, text...), true
}

// Needs implements [Normalizer].
func (r Replace) Needs(text []byte) (size, beside int) {
	switch more := len(r.New) - len(r.Old); {
	case r.Old == "" || !bytes.Contains(text, []byte(r.Old)):
		return 0, 0
	case more > 0:
		return len(text) + more*bytes.Count(text, []byte(r.Old)), 0
	}
	return len(text), 0
}

// A ReplaceRun replaces each run of at least Least characters that have a property.
type ReplaceRun struct {
	Of    func(r rune) bool
	Least int
	New   string
	Only  string // Least times the character, if no other has the property
}

// runs are the regular expressions that tokenizers replace by. Others are refused.
var runs = map[string]ReplaceRun{
	` {2,}`:  {isSpace, 2, "", "  "},
	` +`:     {isSpace, 1, "", " "},
	`\s+`:    {isWhite, 1, "", ""},
	`\s{2,}`: {isWhite, 2, "", ""},
}

func isSpace(r rune) bool { return r == ' ' }
func isWhite(r rune) bool { return property.Of(r)&property.Space != 0 }

// ReplaceExpression returns what replaces matches of a regular expression, if it is a known one.
func ReplaceExpression(expression, with string) (r ReplaceRun, known bool) {
	r, known = runs[expression]
	r.New = with
	return r, known
}

// Append implements [Normalizer].
func (r ReplaceRun) Append(dst, text []byte) (out []byte, changed bool) {
	done := 0
	for begin, end := r.run(text, 0); begin < end; begin, end = r.run(text, end) {
		dst = append(append(dst, text[done:begin]...), r.New...)
		done, changed = end, true
	}
	if !changed {
		return dst, false
	}
	return append(dst, text[done:]...), true
}

// Needs implements [Normalizer].
func (r ReplaceRun) Needs(text []byte) (size, beside int) {
	size = len(text)
	if len(r.New) <= r.Least {
		return size, 0
	}
	for begin, end := r.run(text, 0); begin < end; begin, end = r.run(text, end) {
		size += len(r.New) - (end - begin)
	}
	return size, 0
}

// run returns the first run from p on that is replaced, or an empty one at the end.
func (r ReplaceRun) run(text []byte, p int) (begin, end int) {
	for p = r.next(text, p); p < len(text); p = r.next(text, p) {
		begin, n := p, 0
		for p < len(text) {
			c, size := utf8.DecodeRune(text[p:])
			if !r.Of(c) {
				break
			}
			p += size
			n++
		}
		if n >= r.Least {
			return begin, p
		}
	}
	return len(text), len(text)
}

// next returns the place from p on where a run may start, or the end.
func (r ReplaceRun) next(text []byte, p int) int {
	if r.Only != "" {
		if i := bytes.Index(text[p:], []byte(r.Only)); i >= 0 {
			return p + i
		}
		return len(text)
	}
	for p < len(text) {
		c, size := utf8.DecodeRune(text[p:])
		if r.Of(c) {
			break
		}
		p += size
	}
	return p
}
