package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// A Tree is a place with directories, as Walk sees it. Paths are slash-separated and spelled as the
// user spelled them.
type Tree interface {
	// Stat describes what lies at path, behind links; shard.ErrNotExist when nothing does.
	Stat(ctx context.Context, path string) (Entry, error)
	// ReadDir describes the entries of a directory whose names keep wants, in any order. Entries
	// that vanish meanwhile are left out.
	ReadDir(ctx context.Context, path string, keep func(name string) bool) ([]Entry, error)
	// URI returns the address of a path.
	URI(path string) string
}

// An Entry is a file or directory of a Tree.
type Entry struct {
	Name    string // its last path element
	Kind    EntryKind
	Size    int64  // bytes
	Version string // see Shard

	// Identity is the same for a directory under all its names, so that links that lead in a circle
	// are noticed; "" where there are no links.
	Identity string
}

// EntryKind says what an Entry is.
type EntryKind int

// The kinds of entries. A KindOther holds no data: a socket, a pipe, a device.
const (
	KindFile EntryKind = iota
	KindDir
	KindOther
)

// Walk lists the shards that a path names in a tree, sorted by URI.
//
// A path that exists is taken literally: a file is one shard, a directory stands for all files
// below it that are not hidden. Otherwise braces are expanded (see expandAddress) and each result
// is matched segment by segment (see Match). A segment that exists literally is not a glob, up to
// the first that is one; matched directories stand for their files. A name in braces that has no glob
// must exist, so that a gap is not passed over in silence.
//
// Hidden from directories, and from globs that do not spell their first character, are names that
// start with a dot, or with an underscore and hold no "=", and checksums and unfinished uploads
// (*.crc, *._COPYING_).
//
// Partitions come from directories below the given one, or below the fixed part before the first
// glob or brace.
func Walk(ctx context.Context, tree Tree, path string) ([]shard.Shard, error) {
	return (&walk{ctx: ctx, tree: tree, found: make(map[string]shard.Shard)}).list(path)
}

// WalkDeep is Walk of a tree that describes all files below a directory at once.
func WalkDeep(ctx context.Context, tree DeepTree, path string) ([]shard.Shard, error) {
	return (&walk{ctx: ctx, tree: tree, deep: tree, found: make(map[string]shard.Shard)}).list(path)
}

func (w *walk) list(path string) ([]shard.Shard, error) {
	if err := w.address(path); err != nil {
		return nil, w.wrap(path, err)
	}
	if len(w.found) == 0 {
		return nil, w.nothing(path)
	}
	all := make([]shard.Shard, 0, len(w.found))
	for _, s := range w.found {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b shard.Shard) int { return strings.Compare(a.URI, b.URI) })
	return all, nil
}

type walk struct {
	ctx   context.Context
	tree  Tree
	deep  DeepTree               // the same, or nil
	found map[string]shard.Shard // by path
	dir   bool                   // the path is a directory
}

// A glob is the state of matching one pattern: what matched so far, and what is left.
type glob struct {
	prefix string // path so far: spelled by the user, then by the tree
	rest   []string
	base   string // directories below it give partitions
	fixed  int    // segments left before the first brace; only they and those before the first glob belong to base
	wild   bool   // prefix holds names that the user did not spell
}

func (w *walk) address(path string) error {
	switch e, err := w.tree.Stat(w.ctx, path); {
	case err == nil:
		w.dir = e.Kind == KindDir
		return w.add(path, e, path)
	case !errors.Is(err, shard.ErrNotExist):
		return err
	}
	expanded, err := expandAddress(path)
	if err != nil {
		return err
	}
	fixed := len(path) // more segments than there are
	if open, _, ok := findBraces(path); ok {
		fixed = strings.Count(path[:open], "/")
	}
	globs := make([]glob, len(expanded))
	for i, p := range expanded {
		if p == "" {
			return fmt.Errorf("%w: it is empty", shard.ErrBadURI)
		}
		globs[i] = glob{rest: strings.Split(p, "/"), fixed: fixed}
	}
	if w.deep != nil {
		return w.matchEach(globs)
	}
	for _, g := range globs {
		if err := w.match(g); err != nil {
			return err
		}
	}
	return nil
}

// match finds what a pattern stands for. Trees are asked as late as possible: a segment without a
// glob is only put behind the others.
func (w *walk) match(g glob) error {
	for len(g.rest) > 0 {
		segment := g.rest[0]
		if hasGlob(segment) && !w.literal(g) {
			return w.matchDir(g)
		}
		if !hasGlob(segment) {
			segment = unescape(segment)
		}
		g = g.next(segment)
	}
	e, err := w.tree.Stat(w.ctx, g.prefix)
	switch {
	case errors.Is(err, shard.ErrNotExist) && g.wild:
		return nil // dt=*/part.parquet where one day has none
	case err != nil:
		return w.wrap(g.prefix, err)
	}
	return w.add(g.prefix, e, g.base)
}

// literal reports whether a name exists that is spelled like the glob.
func (w *walk) literal(g glob) bool {
	if g.wild {
		return false
	}
	_, err := w.tree.Stat(w.ctx, g.next(g.rest[0]).prefix)
	return err == nil
}

// next moves one segment from what is left to what matched.
func (g glob) next(name string) glob {
	switch {
	case g.prefix == "" || g.prefix == "/":
		g.prefix += name
	default:
		g.prefix += "/" + name
	}
	if g.prefix == "" { // the empty segment before a leading slash
		g.prefix = "/"
	}
	g.rest = g.rest[1:]
	if g.fixed--; g.fixed >= 0 && !g.wild {
		g.base = g.prefix
	}
	return g
}

// matchDir matches a glob against the names in the directory that matched so far.
func (w *walk) matchDir(g glob) error {
	pattern := g.rest[0]
	g.wild = true
	if w.deep != nil {
		return w.matchAll(g)
	}
	if pattern == "**" {
		e, err := w.tree.Stat(w.ctx, dirPath(g.prefix))
		if err != nil {
			return w.skipMissing(g.prefix, err)
		}
		return w.matchDeep(g, []string{e.Identity})
	}
	entries, err := w.tree.ReadDir(w.ctx, dirPath(g.prefix), func(name string) bool { return matchVisible(pattern, name) })
	if err != nil {
		return w.skipMissing(g.prefix, err)
	}
	for _, e := range entries {
		next := g.next(e.Name)
		switch {
		case e.Kind == KindOther:
		case len(next.rest) == 0:
			err = w.add(next.prefix, e, next.base)
		case e.Kind == KindDir:
			err = w.match(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matchDeep matches ** : what follows it is looked for here and in every directory below. As the
// last segment it stands for all files.
func (w *walk) matchDeep(g glob, above []string) error {
	for len(g.rest) > 1 && g.rest[1] == "**" {
		g.rest = g.rest[1:]
	}
	here := g
	here.rest = g.rest[1:]
	if len(here.rest) == 0 || len(here.rest) == 1 && here.rest[0] == "" { // a slash at the end changes nothing
		return w.skipMissing(g.prefix, w.descend(dirPath(g.prefix), g.base, above))
	}
	if err := w.match(here); err != nil {
		return err
	}
	entries, err := w.tree.ReadDir(w.ctx, dirPath(g.prefix), visible)
	if err != nil {
		return w.skipMissing(g.prefix, err)
	}
	for _, e := range entries {
		if e.Kind != KindDir || inCircle(e, above) {
			continue
		}
		below := g
		below.prefix = g.next(e.Name).prefix
		if err := w.matchDeep(below, append(slices.Clip(above), e.Identity)); err != nil {
			return err
		}
	}
	return nil
}

// add takes what a name stands for: a file, or a directory's files.
func (w *walk) add(path string, e Entry, base string) error {
	switch e.Kind {
	case KindDir:
		return w.descend(path, base, []string{e.Identity})
	case KindOther:
		return w.wrap(path, fmt.Errorf("%w: it is neither a file nor a directory", shard.ErrBadURI))
	}
	w.file(path, e, base)
	return nil
}

func (w *walk) file(path string, e Entry, base string) {
	s := shard.Shard{URI: w.tree.URI(path), Size: e.Size, Version: e.Version}
	if path != base {
		s.Partitions = parsePartitions(path[len(strings.TrimRight(base, "/")):])
	}
	w.found[path] = s
}

// descend takes all visible files below a directory.
func (w *walk) descend(dir, base string, above []string) error {
	if w.deep != nil {
		return w.descendAll(dir, base)
	}
	entries, err := w.tree.ReadDir(w.ctx, dir, visible)
	if err != nil {
		return w.wrap(dir, err)
	}
	for _, e := range entries {
		path := join(dir, e.Name)
		switch {
		case e.Kind == KindFile:
			w.file(path, e, base)
		case e.Kind == KindDir && !inCircle(e, above):
			err = w.descend(path, base, append(slices.Clip(above), e.Identity))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// join puts a name behind a directory as the user spelled it.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return strings.TrimRight(dir, "/") + "/" + name
}

// inCircle reports whether a directory contains itself, behind a link.
func inCircle(e Entry, above []string) bool {
	return e.Identity != "" && slices.Contains(above, e.Identity)
}

// dirPath is the path of the directory that a relative pattern starts in. A prefix that ends with a
// slash ends with a directory without a name, as keys of a bucket can hold, so that the slash is
// not the one behind the directory.
func dirPath(prefix string) string {
	switch {
	case prefix == "":
		return "."
	case prefix != "/" && strings.HasSuffix(prefix, "/"):
		return prefix + "/"
	}
	return prefix
}

// skipMissing ignores a directory that does not exist below a glob.
func (w *walk) skipMissing(path string, err error) error {
	if errors.Is(err, shard.ErrNotExist) || err == nil {
		return nil
	}
	return w.wrap(path, err)
}

// wrap names the path where a list failed, once.
func (w *walk) wrap(path string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) || w.ctx.Err() != nil {
		return err
	}
	return &shard.Error{Op: "list", URI: w.tree.URI(path), Err: err}
}

// nothing is the error of a list that found no file.
func (w *walk) nothing(path string) error {
	e := &shard.Error{Op: "list", URI: w.tree.URI(path), Err: fmt.Errorf("%w: no file matches this pattern", shard.ErrNotExist)}
	if w.dir {
		e.Err = fmt.Errorf("%w: no file lies in this directory", shard.ErrNotExist)
		e.Hint = "names that start with a dot or an underscore are skipped"
	}
	return e
}
