package driver

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// flatTree is a set of file names; directories are what stands before their slashes.
type flatTree []string

func (f flatTree) URI(path string) string { return "flat://" + path }

func (f flatTree) Stat(_ context.Context, path string) (Entry, error) {
	for _, name := range f {
		if name == path {
			return Entry{Name: name, Size: 1, Version: name}, nil
		}
	}
	path = strings.TrimSuffix(path, "/")
	for _, name := range f {
		if path == "." || path == "" || strings.HasPrefix(name, path+"/") {
			return Entry{Name: path, Kind: KindDir}, nil
		}
	}
	return Entry{}, shard.ErrNotExist
}

func (f flatTree) below(path string) ([]string, error) {
	if path == "." {
		return f, nil
	}
	var all []string
	for _, name := range f {
		if below, ok := strings.CutPrefix(name, strings.TrimSuffix(path, "/")+"/"); ok {
			all = append(all, below)
		}
	}
	if len(all) == 0 {
		return nil, shard.ErrNotExist
	}
	return all, nil
}

// ReadAll prunes as a bucket does: a file that start or a directory's refusal leaves out is never
// asked about.
func (f flatTree) ReadAll(_ context.Context, path, start string, keep Keep) ([]Entry, error) {
	below, err := f.below(path)
	var all []Entry
	for _, name := range below {
		if !strings.HasPrefix(name, start) || !enters(name, keep) || !keep(name, false) {
			continue
		}
		all = append(all, Entry{Name: name, Size: 1})
	}
	return all, err
}

// wholeTree asks about every file and about no directory.
type wholeTree struct{ flatTree }

func (f wholeTree) ReadAll(_ context.Context, path, _ string, keep Keep) ([]Entry, error) {
	below, err := f.below(path)
	var all []Entry
	for _, name := range below {
		if keep(name, false) {
			all = append(all, Entry{Name: name, Size: 1})
		}
	}
	return all, err
}

func enters(name string, keep func(string, bool) bool) bool {
	for i, c := range name {
		if c == '/' && !keep(name[:i], true) {
			return false
		}
	}
	return true
}

// TestTreesWalkAlike: trees that leave out what is unwanted, at once or directory by directory, are
// walked to the same shards as one that leaves out nothing, for random names and patterns.
func TestTreesWalkAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	found := 0
	for range 10_000 {
		var files flatTree
		for range 1 + r.IntN(6) {
			name := "r/" + pick("d", "e", "_h", ".h", "k=1", "_k=1")
			for range r.IntN(4) {
				name += "/" + pick("d", "e", "_h", ".h", "k=1", "_k=1", "a.p", "b.p", "x.crc")
			}
			if name += "/" + pick("a.p", "b.p", "f", "_f", ".f", "f.crc"); !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
		pattern := "r/" + pick("d", "e", "*", "**", "[de]", "_h", "_*", "k=*", "{d,e}")
		for range r.IntN(4) {
			pattern += "/" + pick("d", "e", "*", "**", "[de]", "_h", "_*", "k=*", "?", "{d,e}", `\d`, "*.p", "a.p", "f")
		}
		pattern += pick("", "", "", "/")
		want, wantErr := Walk(t.Context(), wholeTree{files}, pattern, WalksAtOnce)
		for _, tree := range []Tree{files, descendingTree{files}} {
			got, err := Walk(t.Context(), tree, pattern, WalksAtOnce)
			if (err == nil) != (wantErr == nil) || !slices.EqualFunc(got, want, sameShard) {
				t.Fatalf("%q in %q: %v %v, without pruning %v %v", pattern, files, got, err, want, wantErr)
			}
		}
		found += len(want)
	}
	if found < 1_000 {
		t.Errorf("only %d shards were found: the patterns fit too rarely", found)
	}
}

func sameShard(a, b shard.Shard) bool {
	return a.URI == b.URI && slices.Equal(a.Partitions, b.Partitions)
}

// TestFileBesideDirectory: in a bucket a key can be a directory too.
func TestFileBesideDirectory(t *testing.T) {
	tree := flatTree{"d/a", "d/a/b", "d//c", "d/e//f"}
	for _, c := range []struct{ pattern, want string }{
		{"d", "d//c d/a d/a/b d/e//f"},
		{"d/", "d//c d/a d/a/b d/e//f"},
		{"d/a", "d/a"},
		{"d/a/", "d/a/b"},
		{"d/[a]", "d/a d/a/b"},
		{"d//c", "d//c"},
		{"d//[c]", "d//c"},
		{"d/e//*", "d/e//f"},
		{"**/[cf]", "d//c d/e//f"},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			shards, err := Walk(t.Context(), tree, c.pattern, WalksAtOnce)
			if err != nil {
				t.Errorf("%v", err)
			}
			var got []string
			for _, s := range shards {
				got = append(got, strings.TrimPrefix(s.URI, "flat://"))
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%s, want %s", g, c.want)
			}
		})
	}
}

func TestMatchBelow(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		dir, want     bool
	}{
		{"*.p", "a.p", false, true},
		{"*.p", "a.p/b", false, true},
		{"*.p", "a.p/_b", false, false},
		{"*.p", "x/a.p", false, false},
		{"*.p", "a.q", true, false},
		{"*.p", "a.p", true, true},
		{"x=*/*.p", "x=1", true, true},
		{"x=*/*.p", "y=1", true, false},
		{"x=*/*.p", "x=1/a.p/b", true, true},
		{"x=*/*.p", "x=1/a.q", true, false},
		{"x=*/*.p", "x=1", false, false},
		{"**/a", "b/_c", true, false},
		{"**/a", "b/c", true, true},
		{"**/_c/a", "b/_c", true, true},
		{"a*/", "a1", false, false},
		{"a*/", "a1", true, true},
		{"a*/", "a1/b", false, true},
		{`**/**/**/**/**/**/**/**/x`, strings.Repeat("a/", 60) + "b", false, false}, // in no time
	} {
		t.Run(c.pattern, func(t *testing.T) {
			if got := matchBelow(strings.Split(c.pattern, "/"), c.path, c.dir); got != c.want {
				t.Errorf("%s, dir %v: %v", c.path, c.dir, got)
			}
		})
	}
}

func TestLiteralStart(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{"*", ""}, {"a*", "a"}, {"dt=2026-*/x", "dt=2026-"}, {"a/b?", "a/b"}, {"[ab]", ""}, {`a\*b*`, "a"}, {"a]b*", "a]b"}, {"**/x", ""},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			if got := literalStart(strings.Split(c.pattern, "/")); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
