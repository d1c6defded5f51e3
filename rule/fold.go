package rule

import (
	"unicode"
	"unicode/utf8"
)

// A fold changes the case of a text, one character at a time: by the simple case mapping of
// Unicode (UnicodeData.txt), as DuckDB, PostgreSQL and pyarrow have it.
type fold uint8

const (
	asWritten fold = iota
	toLower
	toUpper
)

// append appends v in the case to dst.
func (f fold) append(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		c := v[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(v[i:])
			if mapped := f.of(r); mapped != r {
				dst = utf8.AppendRune(dst, mapped)
			} else {
				dst = append(dst, v[i:i+size]...)
			}
			i += size
			continue
		}
		switch {
		case f == toLower && c-'A' < 26:
			c += 'a' - 'A'
		case f == toUpper && c-'a' < 26:
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

// of returns a character in the case.
func (f fold) of(r rune) rune {
	switch {
	case f == toLower:
		return unicode.ToLower(r)
	case f == toUpper && r == 'ß': // has no simple mapping; DuckDB and pyarrow take this one
		return 'ẞ'
	case f == toUpper:
		return unicode.ToUpper(r)
	}
	return r
}
