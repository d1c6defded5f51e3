package driver

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// matchSegment matches one name without slashes in time len(pattern) * len(name) at most.
func matchSegment(pattern, name string) bool {
	p, n := 0, 0
	backP, backN := -1, 0 // the last * and where its run ends
	for n < len(name) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == '*' {
			backP, backN = p, n
			p++
			continue
		}
		if p < len(pattern) && n < len(name) {
			if pn, nn, ok := matchOne(pattern[p:], name[n:]); ok {
				p += pn
				n += nn
				continue
			}
		}
		if backP < 0 || backN >= len(name) {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[backN:])
		backN += size
		p, n = backP+1, backN
	}
	return true
}

// matchOne matches the first character of name and returns how many bytes of both it took.
func matchOne(pattern, name string) (pn, nn int, ok bool) {
	r, nn := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, nn, true
	case '[':
		if in, size, isSet := matchSet(pattern, r); isSet {
			return size, nn, in
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, 1, pattern[1] == name[0]
		}
	}
	return 1, 1, pattern[0] == name[0]
}

// matchSet matches r against the [set] that pattern starts with and returns its length in bytes.
func matchSet(pattern string, r rune) (in bool, size int, isSet bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := i; i < len(pattern) && (pattern[i] != ']' || i == first); {
		low, n := setRune(pattern[i:])
		i += n
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, n = setRune(pattern[i+1:])
			i += 1 + n
		}
		in = in || low <= r && r <= high
	}
	if i >= len(pattern) {
		return false, 0, false
	}
	return in != negated, i + 1, true
}

func setRune(s string) (r rune, size int) {
	if s[0] == '\\' && len(s) > 1 {
		r, size = utf8.DecodeRuneInString(s[1:])
		return r, size + 1
	}
	return utf8.DecodeRuneInString(s)
}

// hasGlob reports whether a path segment may match more than one name.
func hasGlob(segment string) bool {
	for i := 0; i < len(segment); i++ {
		switch segment[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if _, _, isSet := matchSet(segment[i:], 0); isSet {
				return true
			}
		}
	}
	return false
}

var backslashed = regexp.MustCompile(`(?s)\\(.)`)

// unescape removes the backslashes of a segment that has no glob.
func unescape(segment string) string { return backslashed.ReplaceAllString(segment, "$1") }

// hidden reports whether a name that the user did not write out is left out, by Spark's rule: a
// leading dot, a leading underscore unless the name holds a partition's "=", an upload in progress;
// and a checksum file.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && !strings.Contains(name, "=") ||
		strings.HasSuffix(name, "._COPYING_") || strings.HasSuffix(name, ".crc")
}

// matchVisible matches a name in a directory: hidden ones only by a glob that spells their start.
func matchVisible(pattern, name string) bool {
	return matchSegment(pattern, name) && (!hidden(name) || pattern[0] == name[0])
}
