// Package printable escapes what text from files must not do to a terminal: control characters, C1
// included, and characters that change the direction of text or break its lines.
//
// Names of columns, strings and paths are the data of strangers. They can move a cursor, change a
// title, or show other letters than they have (https://trojansource.codes).
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s on one line with every unsafe character escaped, as \x1b or \u202e. Bytes that are
// not UTF-8 are escaped too.
func Text(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	for i, c := range s {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafe(c):
			b.WriteRune(c)
		case c <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

func safe(s string) bool {
	return !strings.ContainsFunc(s, unsafe) && utf8.ValidString(s)
}

func unsafe(c rune) bool {
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' || c == '\u2029'
}

// Writer returns a Writer for a terminal that passes text on to w with every unsafe character but
// tabs and line feeds escaped. It writes \u009b, which in the strings of JSON is the same value.
func Writer(w io.Writer) io.Writer { return &writer{to: w} }

type writer struct {
	to   io.Writer
	rest []byte // the first bytes of a character that the last Write has cut
	out  []byte
}

// Write passes p on. The first bytes of a character that p cuts wait for the next Write.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	w.out = w.out[:0]
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			break
		}
		c, size := utf8.DecodeRune(text)
		w.append(c, text[:size])
		text = text[size:]
	}
	w.rest = append([]byte(nil), text...)
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) append(c rune, encoded []byte) {
	switch {
	case c == utf8.RuneError && len(encoded) == 1:
		w.out = append(w.out, string(utf8.RuneError)...)
	case c == '\n' || c == '\t' || !unsafe(c):
		w.out = append(w.out, encoded...)
	default:
		w.out = fmt.Appendf(w.out, `\u%04x`, c)
	}
}
