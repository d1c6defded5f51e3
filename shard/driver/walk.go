package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
)

// A Tree is a place with directories, as Walk sees it. Paths are slash-separated and spelled as the
// user spelled them. Its methods are safe for concurrent use.
type Tree interface {
	// Stat describes the file at path, following links, or returns shard.ErrNotExist.
	Stat(ctx context.Context, path string) (Entry, error)
	// ReadAll describes the files at any depth below a directory, in any order; shard.ErrNotExist
	// when there is no such directory. An Entry's Name is the file's path below the directory, as
	// in "dt=1/a.parquet". A place that lists directory by directory has it from Descend.
	//
	// Start is the common prefix of all wanted paths, or "": a bucket lists only those. ReadAll
	// calls keep with paths below the directory: it reports whether a file is wanted, or whether
	// any file below a directory can be. ReadAll must call it for each file that it describes; keep
	// is cheap and safe for concurrent use.
	ReadAll(ctx context.Context, path, start string, keep Keep) ([]Entry, error)
	// URI returns the address of a path.
	URI(path string) string
}

// Keep reports whether a file, or a directory for the files below it, is wanted by its path.
type Keep = func(path string, dir bool) bool

// An Entry is a file or directory of a Tree.
type Entry struct {
	Name    string // its last path element
	Kind    EntryKind
	Size    int64  // bytes
	Version string // see Shard

	Instance string // see Shard

	// Identity is the same for a directory under all its names, so that cycles of links are
	// detected; "" without links.
	Identity string
}

// EntryKind is the kind of an Entry.
type EntryKind int

// The kinds of entries. A KindOther holds no data: a socket, a pipe, a device.
const (
	KindFile EntryKind = iota
	KindDir
	KindOther
)

// Walk lists the shards that a path names in a tree, sorted by URI.
//
// A path that exists is taken literally: a file is one shard, a directory all files below it that
// are not hidden. Otherwise braces are expanded (see expandAddress) and each result is matched
// segment by segment: * matches any run of characters, ? one, [a-z] one of a set, [!a-z] or [^a-z]
// one of the others, ** as a whole segment any number of directories, even 0. A backslash makes the
// next character literal; a [ without its ] is literal. A segment that exists literally is not a
// glob, up to the first that is one; matched directories include their files. A name in braces that
// has no glob must exist, so that gaps are reported.
//
// Hidden from directories, and from globs that do not spell their first character, are names that
// start with a dot, or with an underscore and hold no "=", and checksums and unfinished uploads
// (*.crc, *._COPYING_).
//
// A directory that holds a table of a table format (Delta, Iceberg, Hudi, Hive ACID) is an error;
// globs may match files of one.
//
// Partitions come from directories below the given one, or below the fixed part before the first
// glob or brace.
//
// AtOnce is the number of names from braces to look up concurrently: servers answer many at once, a
// disk is faster one at a time.
func Walk(ctx context.Context, tree Tree, path string, atOnce int) ([]shard.Shard, error) {
	w := &walk{ctx: ctx, tree: tree, atOnce: atOnce, found: make(map[string]shard.Shard), mu: new(sync.Mutex)}
	if err := w.address(path); err != nil {
		return nil, w.wrap(path, err)
	}
	if len(w.found) == 0 {
		return nil, w.nothing(path)
	}
	return slices.SortedFunc(maps.Values(w.found), func(a, b shard.Shard) int { return strings.Compare(a.URI, b.URI) }), nil
}

type walk struct {
	ctx    context.Context
	tree   Tree
	atOnce int
	dir    bool // the path is a directory
	mu     *sync.Mutex
	found  map[string]shard.Shard // by path; guarded by mu
}

// A glob is the state of matching one pattern: what matched so far, and what is left.
type glob struct {
	prefix string // path so far: spelled by the user, then by the tree
	rest   []string
	base   string // directories below it give partitions
	fixed  int    // segments left before the first brace; only they and those before the first glob belong to base
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
	if open, end, _ := findBraces(path); end > 0 {
		fixed = strings.Count(path[:open], "/")
	}
	globs := make([]glob, len(expanded))
	for i, p := range expanded {
		if p == "" {
			return fmt.Errorf("%w: it is empty", shard.ErrBadURI)
		}
		globs[i] = glob{rest: strings.Split(p, "/"), fixed: fixed}
	}
	return w.matchEach(globs)
}

// matchEach matches all expansions of braces. All have ended when it returns.
func (w *walk) matchEach(globs []glob) error {
	if w.atOnce == 1 {
		for _, g := range globs {
			if err := w.match(g); err != nil {
				return err
			}
		}
		return nil
	}
	group, ctx := errgroup.WithContext(w.ctx)
	group.SetLimit(w.atOnce)
	one := *w
	one.ctx = ctx
	for _, g := range globs {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return one.match(g) })
	}
	err := group.Wait()
	if w.ctx.Err() != nil {
		return cause.Of(w.ctx)
	}
	return err
}

// match finds the files of a pattern. It calls trees as late as possible: a segment without a glob
// is only appended.
func (w *walk) match(g glob) error {
	for len(g.rest) > 0 {
		segment := g.rest[0]
		if hasGlob(segment) && !w.literal(g) {
			return w.matchAll(g)
		}
		if !hasGlob(segment) {
			segment = unescape(segment)
		}
		g = g.next(segment)
	}
	e, err := w.tree.Stat(w.ctx, g.prefix)
	if err != nil {
		return w.wrap(g.prefix, err)
	}
	return w.add(g.prefix, e, g.base)
}

// literal reports whether a name exists that is spelled like the glob.
func (w *walk) literal(g glob) bool {
	_, err := w.tree.Stat(w.ctx, g.next(g.rest[0]).prefix)
	return err == nil
}

// next moves one segment from what is left to what matched.
func (g glob) next(name string) glob {
	if g.prefix != "" && g.prefix != "/" {
		g.prefix += "/"
	}
	if g.prefix += name; g.prefix == "" { // the empty segment before a leading slash
		g.prefix = "/"
	}
	g.rest = g.rest[1:]
	if g.fixed--; g.fixed >= 0 {
		g.base = g.prefix
	}
	return g
}

// matchAll matches what is left of a pattern, from its first glob on, with all below what matched.
func (w *walk) matchAll(g glob) error {
	dir := dirPath(g.prefix)
	keep := func(path string, isDir bool) bool { return matchBelow(g.rest, path, isDir) }
	entries, err := w.tree.ReadAll(w.ctx, dir, literalStart(g.rest), keep)
	if e := (*shard.Error)(nil); errors.Is(err, shard.ErrNotExist) && !errors.As(err, &e) { // not a bucket, which is more than a directory
		return nil // nothing matches
	}
	if err != nil {
		return w.wrap(g.prefix, err)
	}
	if g.prefix == "" {
		dir = ""
	}
	w.files(dir, g.base, entries)
	return nil
}

func (w *walk) add(path string, e Entry, base string) error {
	switch e.Kind {
	case KindDir:
		return w.descend(path, base)
	case KindOther:
		return w.wrap(path, fmt.Errorf("%w: it is neither a file nor a directory", shard.ErrBadURI))
	}
	w.file(path, e, base)
	return nil
}

func (w *walk) file(path string, e Entry, base string) {
	s := shard.Shard{URI: w.tree.URI(path), Size: e.Size, Version: e.Version, Instance: e.Instance}
	if path != base {
		s.Partitions = parsePartitions(path[len(strings.TrimRight(base, "/")):])
	}
	w.mu.Lock()
	w.found[path] = s
	w.mu.Unlock()
}

func (w *walk) descend(dir, base string) error {
	watch := watchTable(dir)
	entries, err := w.tree.ReadAll(w.ctx, dir, "", func(path string, isDir bool) bool {
		watch.see(path, isDir)
		return allVisible(path)
	})
	if err != nil {
		return w.wrap(dir, err)
	}
	if watch.format != "" {
		return shard.Table{Format: watch.format, Mark: w.tree.URI(watch.mark)}.Refuse(w.tree.URI(dir))
	}
	w.files(dir, base, entries)
	return nil
}

func (w *walk) files(dir, base string, entries []Entry) {
	entries = withoutMarks(entries)
	if dir != "" && !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	for _, e := range entries {
		w.file(dir+e.Name, e, base)
	}
}

// withoutMarks removes empty files that have the name of a directory, which mark the directory in a
// bucket.
func withoutMarks(entries []Entry) []Entry {
	marks := map[string]bool{} // of empty files: whether it has files below
	for _, e := range entries {
		if e.Size == 0 {
			marks[e.Name] = false
		}
	}
	if len(marks) == 0 {
		return entries
	}
	for _, e := range entries {
		for i := range len(e.Name) {
			if _, empty := marks[e.Name[:i]]; empty && e.Name[i] == '/' {
				marks[e.Name[:i]] = true
			}
		}
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return marks[e.Name] })
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

// wrap names the path where a list failed, once.
func (w *walk) wrap(path string, err error) error {
	if e := (*shard.Error)(nil); errors.As(err, &e) || w.ctx.Err() != nil {
		return err
	}
	e := &shard.Error{Op: "list", URI: w.tree.URI(path), Err: err}
	if err == shard.ErrNotExist { // the driver has no more to say
		e.Err, e.Hint = fmt.Errorf("%w: there is no such file or directory", err), shard.SlashHint(e.URI)
	}
	return e
}

func (w *walk) nothing(path string) error {
	e := &shard.Error{Op: "list", URI: w.tree.URI(path), Err: fmt.Errorf("%w: no file matches this pattern", shard.ErrNotExist)}
	e.Hint = shard.SlashHint(e.URI)
	if w.dir {
		e.Err = fmt.Errorf("%w: this directory has no files", shard.ErrNotExist)
		e.Hint = "names that start with a dot or an underscore are skipped"
	}
	return e
}
