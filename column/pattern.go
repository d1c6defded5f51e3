package column

import (
	"path"
	"strings"
)

// IsPattern reports whether a name may match several columns.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// MatchesName reports whether a pattern matches a name: * matches any characters, ? one and [ab]
// one of these.
func MatchesName(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00").Replace // which a pattern takes for a separator
	ok, err := path.Match(flat(pattern), flat(name))
	return IsPattern(pattern) && ok && err == nil
}

// Match returns the nodes that a pattern matches: by their whole name, else members of structs by
// the parts of the pattern between dots. of returns a node's name and its members; a list has the
// members of its items.
func Match[T any](nodes []T, pattern string, of func(T) (name string, members []T)) (found []T) {
	if !IsPattern(pattern) {
		return nil
	}
	return match(nodes, pattern, of)
}

func match[T any](nodes []T, pattern string, of func(T) (string, []T)) (found []T) {
	fits := func(pattern string, n T) bool {
		name, _ := of(n)
		return pattern == name || MatchesName(pattern, name)
	}
	for _, n := range nodes {
		if fits(pattern, n) {
			found = append(found, n)
		}
	}
	first, rest, dotted := strings.Cut(pattern, ".")
	if found != nil || !dotted {
		return found
	}
	for _, n := range nodes {
		if fits(first, n) {
			_, members := of(n)
			found = append(found, match(members, rest, of)...)
		}
	}
	return found
}
