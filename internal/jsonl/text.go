package jsonl

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259, section 7). Invalid UTF-8 becomes U+FFFD, so
// that the line is always valid.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[done:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				done = i + 1
			}
			i += size
			continue
		}
		if c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[done:i]...)
			dst = appendEscape(dst, c)
			done = i + 1
		}
		i++
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// appendEscape appends the shortest escape of a quote, a backslash or a control character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
