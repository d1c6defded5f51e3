package driver

import (
	"slices"
	"strings"
)

func allVisible(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if hidden(name) {
			return false
		}
	}
	return true
}

// literalStart returns the common prefix of all paths that a pattern matches, up to its first
// special character.
func literalStart(pattern []string) string {
	path := strings.Join(pattern, "/")
	if i := strings.IndexAny(path, `*?[\`); i >= 0 {
		path = path[:i]
	}
	return path
}

// matchBelow reports whether a pattern matches a file of this path, by its own name or by a
// directory above it; or, for a directory, whether it can match files below. A hidden name is
// matched only by a segment that spells its first character.
func matchBelow(pattern []string, path string, dir bool) bool {
	m := matcher{pattern: pattern, names: strings.Split(strings.TrimSuffix(path, "/"), "/"), dir: dir}
	if !dir {
		m.names = strings.Split(path, "/")
	}
	return m.match(0, 0)
}

// A matcher matches the names of one path.
type matcher struct {
	pattern, names []string
	dir            bool
	dead           map[[2]int]bool // places from which nothing matches, so that many ** cost no more than one each
}

// match matches the names from n on against the pattern from p on.
func (m *matcher) match(p, n int) bool {
	if n == len(m.names) {
		return m.dir || p == len(m.pattern)
	}
	if p == len(m.pattern) || p == len(m.pattern)-1 && m.pattern[p] == "" && p > 0 { // all of a directory, which a slash may end
		return n > 0 && m.visible(n)
	}
	at := [2]int{p, n}
	if m.dead[at] {
		return false
	}
	if m.pattern[p] == "**" && m.deep(p, n) || m.pattern[p] != "**" && m.one(p, n) && m.match(p+1, n+1) {
		return true
	}
	if m.dead == nil {
		m.dead = make(map[[2]int]bool)
	}
	m.dead[at] = true
	return false
}

// deep matches **: no directory, or one more visible one; as the last segment, all files.
func (m *matcher) deep(p, n int) bool {
	if rest := m.pattern[p+1:]; len(rest) == 0 || len(rest) == 1 && rest[0] == "" { // a slash at the end changes nothing
		return m.visible(n)
	}
	if m.match(p+1, n) {
		return true
	}
	isDir := m.dir || n < len(m.names)-1
	return isDir && !hidden(m.names[n]) && m.match(p, n+1)
}

// one matches one name. A name without a glob must be equal; a name that is not the last is a
// directory's.
func (m *matcher) one(p, n int) bool {
	segment, name := m.pattern[p], m.names[n]
	if !hasGlob(segment) {
		return unescape(segment) == name
	}
	return matchVisible(segment, name)
}

func (m *matcher) visible(n int) bool { return !slices.ContainsFunc(m.names[n:], hidden) }
