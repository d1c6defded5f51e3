package driver

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"

	"golang.org/x/sync/errgroup"
)

// A DeepTree is a Tree that describes all files below a directory in fewer requests, or sooner,
// than directory by directory: a bucket, whose directories are only slashes in keys, or a name
// service that answers many questions at once. WalkDeep asks it nothing else about directories. It
// has no links that lead in a circle, and its methods are safe for concurrent use.
type DeepTree interface {
	Tree
	// ReadAll describes the files at any depth below a directory, in any order; shard.ErrNotExist
	// when there is no such directory. An Entry's Name is the file's path below the directory, as
	// in "dt=1/a.parquet".
	//
	// Start is how all wanted paths begin, or "": a bucket lists only those. Keep is asked about
	// paths below the directory: whether a file is wanted, or whether any file below a directory
	// can be. It must be asked about each file that is described, is cheap, and is safe for
	// concurrent use.
	ReadAll(ctx context.Context, path, start string, keep func(path string, dir bool) bool) ([]Entry, error)
}

// walksAtOnce is how many of the names that braces stand for are looked for side by side.
const walksAtOnce = 16

// matchEach matches what braces stand for, several at a time. All have ended when it returns.
func (w *walk) matchEach(globs []glob) error {
	group, ctx := errgroup.WithContext(w.ctx)
	group.SetLimit(walksAtOnce)
	var mu sync.Mutex
	for _, g := range globs {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			one := &walk{ctx: ctx, tree: w.tree, deep: w.deep, found: make(map[string]shard.Shard)}
			if err := one.match(g); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(w.found, one.found)
			return nil
		})
	}
	err := group.Wait()
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return err
}

// descendAll is descend in a DeepTree.
func (w *walk) descendAll(dir, base string) error {
	entries, err := w.deep.ReadAll(w.ctx, dir, "", func(path string, _ bool) bool { return allVisible(path) })
	if err != nil {
		return w.wrap(dir, err)
	}
	w.files(dir, base, entries)
	return nil
}

// matchAll matches all that is left of a pattern, from its first glob on, against everything below
// the directory that matched so far.
func (w *walk) matchAll(g glob) error {
	dir := dirPath(g.prefix)
	keep := func(path string, isDir bool) bool { return matchBelow(g.rest, path, isDir) }
	entries, err := w.deep.ReadAll(w.ctx, dir, literalStart(g.rest), keep)
	if err != nil {
		return w.skipMissing(g.prefix, err)
	}
	if g.prefix == "" {
		dir = ""
	}
	w.files(dir, g.base, entries)
	return nil
}

func (w *walk) files(dir, base string, entries []Entry) {
	if dir != "" && !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	for _, e := range entries {
		w.file(dir+e.Name, e, base)
	}
}

// allVisible reports whether no name in a path is hidden.
func allVisible(path string) bool {
	for path != "" {
		name, rest, _ := strings.Cut(path, "/")
		if !visible(name) {
			return false
		}
		path = rest
	}
	return true
}

// literalStart is how all paths begin that a pattern matches: what stands before its first special
// character.
func literalStart(pattern []string) string {
	path := strings.Join(pattern, "/")
	if i := strings.IndexAny(path, `*?[\`); i >= 0 {
		path = path[:i]
	}
	return path
}

// matchBelow reports whether a pattern stands for a file of this path, by its own name or by that
// of a directory above it; or, of a directory, whether it can stand for files below. A hidden name
// is met only by a segment that spells its first character.
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

// deep matches ** : no directory, or one more visible one. As the last segment it stands for all
// files.
func (m *matcher) deep(p, n int) bool {
	if rest := m.pattern[p+1:]; len(rest) == 0 || len(rest) == 1 && rest[0] == "" { // a slash at the end changes nothing
		return m.visible(n)
	}
	if m.match(p+1, n) {
		return true
	}
	isDir := m.dir || n < len(m.names)-1
	return isDir && visible(m.names[n]) && m.match(p, n+1)
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

// visible reports whether no name from n on is hidden.
func (m *matcher) visible(n int) bool {
	for _, name := range m.names[n:] {
		if !visible(name) {
			return false
		}
	}
	return true
}
