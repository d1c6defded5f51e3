package column

import (
	"fmt"
	"slices"
	"strings"
)

// Find returns the node at a dotted path such as "meta.size", or the zero value if no node matches.
// of returns a node's field, and the children that a path may continue to. A name may contain dots;
// the longest match wins. A name that two nodes share is an error.
func Find[T comparable](nodes []T, path string, of func(T) (*Field, []T)) (found T, err error) {
	for end := len(path); end >= 0; end = strings.LastIndexByte(path[:end], '.') {
		named := func(n T) bool {
			f, _ := of(n)
			return f.Name == path[:end]
		}
		at := slices.IndexFunc(nodes, named)
		switch {
		case at < 0:
			continue
		case slices.ContainsFunc(nodes[at+1:], named):
			return found, fmt.Errorf("more than one %q", path[:end])
		case end == len(path):
			return nodes[at], nil
		}
		_, children := of(nodes[at])
		if found, err = Find(children, path[end+1:], of); err != nil || found != *new(T) {
			return found, err
		}
	}
	return found, nil
}
