package shard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// stores is a memory store with the given names, and the local disk.
func stores(names ...string) shard.Stores {
	m := &mem.Store{}
	for _, name := range names {
		m.Put(name, []byte(name))
	}
	return shard.Stores{"mem": m, "": local.Store{}, "file": local.Store{}}
}

func uris(shards []shard.Shard) []string {
	all := make([]string, len(shards))
	for i, s := range shards {
		all[i] = s.URI
	}
	return all
}

func TestDiscover(t *testing.T) {
	s := stores("d/b", "d/a", "e/dt=1/a", "e/dt=1/b", "list/one", "list/two")
	list := "\xef\xbb\xbf# a comment\r\n\r\n  mem://d/b \nmem://e/dt=1\n#mem://nothing"
	s["mem"].(*mem.Store).Put("list/one", []byte(list))
	for _, c := range []struct{ addresses, want string }{
		{"mem://d", "mem://d/a mem://d/b"},
		{"mem://d/b mem://d/a", "mem://d/a mem://d/b"},
		{"mem://d/b mem://d mem://d/*", "mem://d/a mem://d/b"},
		{"mem://e mem://d", "mem://d/a mem://d/b mem://e/dt=1/a mem://e/dt=1/b"},
		{"@mem://list/one", "mem://d/b mem://e/dt=1/a mem://e/dt=1/b"},
		{"@mem://list/one mem://d/a", "mem://d/a mem://d/b mem://e/dt=1/a mem://e/dt=1/b"},
	} {
		t.Run(c.addresses, func(t *testing.T) {
			found, err := shard.Discover(t.Context(), s, strings.Fields(c.addresses), shard.DiscoverOptions{})
			if err != nil {
				t.Errorf("%v", err)
			}
			if got := strings.Join(uris(found), " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDiscoverErrors(t *testing.T) {
	s := stores("d/a", "empty/_x")
	m := s["mem"].(*mem.Store)
	m.Put("lists/empty", []byte("\n# nothing\n"))
	m.Put("lists/missing", []byte("mem://d/a\n\nmem://d/b\n"))
	m.Put("lists/nested", []byte("@mem://lists/missing\n"))
	for _, c := range []struct {
		addresses string
		kind      error
		want      string
	}{
		{"", shard.ErrBadURI, "bad address: no address was given"},
		{"mem://d/b", shard.ErrNotExist, "mem://d/b: list: does not exist: there is no such file or directory"},
		{"mem://d/a mem://e/*", shard.ErrNotExist, "mem://e/*: list: does not exist: no file matches this pattern"},
		{"mem://empty", shard.ErrNotExist, "mem://empty: list: does not exist: this directory has no files (names that start with a dot or an underscore are skipped)"},
		{"mem://d/{a,b}", shard.ErrNotExist, "mem://d/b: list: does not exist: there is no such file or directory"},
		{"@mem://lists/none", shard.ErrNotExist, "@mem://lists/none: list: does not exist: there is no such file or directory"},
		{"@mem://lists/empty", shard.ErrNotExist, "@mem://lists/empty: list: does not exist: this list file names no shard"},
		{"@mem://lists/missing", shard.ErrNotExist, "mem://d/b: list: does not exist: there is no such file or directory (line 3 of mem://lists/missing)"},
		{"@mem://lists/nested", shard.ErrBadURI, "@mem://lists/missing: list: bad address: a list file cannot name another (line 1 of mem://lists/nested)"},
		{"@mem://user:secret@lists/none", shard.ErrNotExist, "@mem://user:***@lists/none: list: does not exist: there is no such file or directory"},
		{"@mem://lists", shard.ErrBadURI, "@mem://lists: list: bad address: it is not a list file"},
		{"s3://b/k", shard.ErrBadURI, "s3://b/k: list: bad address: this program has no store for s3://, only for bare paths, file://, mem://"},
	} {
		t.Run(c.addresses, func(t *testing.T) {
			found, err := shard.Discover(t.Context(), s, strings.Fields(c.addresses), shard.DiscoverOptions{})
			if !errors.Is(err, c.kind) || found != nil {
				t.Errorf("%d shards, error %v", len(found), err)
				return
			}
			if err.Error() != c.want {
				t.Errorf("%q:\n got %s\nwant %s", c.addresses, err, c.want)
			}
		})
	}
}

// TestDiscoverLong: an address and a line of a list file have a bound, and no error prints all of a
// long address.
func TestDiscoverLong(t *testing.T) {
	s := stores("d/a")
	m := s["mem"].(*mem.Store)
	long := "mem://" + strings.Repeat("x", 100_000)
	m.Put("lists/long", []byte("mem://d/a\n"+long+"\n"))
	m.Put("lists/huge", []byte(strings.Repeat("x", 100<<20)))
	m.Put("lists/binary", []byte("PAR1\x00\x01\n"))
	for _, c := range []struct{ name, address, want string }{
		{"address", long, "it has 100006 bytes, and an address has at most 65536"},
		{"line", "@mem://lists/long", "line 2 of this list file has 100006 bytes, and an address has at most 65536"},
		{"huge line", "@mem://lists/huge", "line 1 of this list file has 104857600 bytes"},
		{"binary", "@mem://lists/binary", "line 1 of this file is not text: a list file has one address a line"},
		{"within the bound", "mem://" + strings.Repeat("y", 60_000), "yyyy...(60006 bytes)...yyyy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := shard.Discover(t.Context(), s, []string{c.address}, shard.DiscoverOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
				t.Errorf("error of %d bytes: %.300v", len(err.Error()), err)
			}
		})
	}
	bad := &shard.Error{Op: "list", URI: "a", Err: errors.New(strings.Repeat("é", 1<<20))}
	if text := bad.Error(); len(text) > 5000 || !strings.Contains(text, "...(2097152 bytes)...") || !utf8.ValidString(text) {
		t.Errorf("an error's text has %d bytes", len(text))
	}
}

// silent is a store that breaks its promise to name what is missing.
type silent struct{ shard.Store }

func (silent) List(context.Context, string) ([]shard.Shard, error) { return nil, nil }

func TestDiscoverNothing(t *testing.T) {
	if _, err := shard.Discover(t.Context(), silent{}, []string{"x"}, shard.DiscoverOptions{}); !errors.Is(err, shard.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
}

// TestDiscoverSpellings: one file under several spellings is one shard, and the order is that of
// the cleaned spelling.
func TestDiscoverSpellings(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"a", "b", "c d", "k=1/x", "_list"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("./b\na\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ addresses, want []string }{
		{[]string{"./b", "a"}, []string{"a", "./b"}},
		{[]string{"a", "./a", dir + "/a", "file://" + dir + "/a", "k=1/../a"}, []string{"a"}},
		{[]string{dir + "/a", dir + "/./a", "file://" + dir + "//a"}, []string{dir + "/a"}},
		{[]string{"file://" + dir + "/c%20d", "file:" + dir + "/c d"}, []string{"file:" + dir + "/c d"}},
		{[]string{"k=1/x", "k=1/x"}, []string{"k=1/x"}},
		{[]string{"@_list"}, []string{"a", "./b"}},
		{[]string{"."}, []string{"./a", "./b", "./c d", "./k=1/x"}},
	} {
		for range 2 {
			found, err := shard.Discover(t.Context(), stores(), c.addresses, shard.DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := uris(found); !slices.Equal(got, c.want) {
				t.Errorf("%q: got %q, want %q", c.addresses, got, c.want)
			}
			slices.Reverse(c.addresses)
		}
	}
	for _, addresses := range [][]string{{".", "k=1/x"}, {"k=1/x", "."}} {
		found, err := shard.Discover(t.Context(), stores(), addresses, shard.DiscoverOptions{})
		if err != nil || len(found[3].Partitions) != 1 {
			t.Errorf("%q: the finding with partitions is lost: %+v, %v", addresses, found, err)
		}
	}
}

func TestRelativePaths(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"/a/b", "b"},
		{"a", "a"},
		{"/a/b /a/c", "b c"},
		{"/a/b/x /a/c/x", "b/x c/x"},
		{"/a/bc/x /a/bd/x", "bc/x bd/x"},
		{"/a/b /c/d", "a/b c/d"},
		{"a/b /a/b", "a/b /a/b"},
		{"./a/b a/c", "b c"},
		{"file:///a/b /a/c", "b c"},
		{"s3://b/k/x s3://b/k/y", "x y"},
		{"s3://b/k/x mem://b/k/y", "s3://b/k/x mem://b/k/y"},
		{"/x s3://b/k", "/x s3://b/k"},
	} {
		t.Run(c.in, func(t *testing.T) {
			var shards []shard.Shard
			for _, uri := range strings.Fields(c.in) {
				shards = append(shards, shard.Shard{URI: uri})
			}
			if got := strings.Join(shard.RelativePaths(shards), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzListFile(f *testing.F) {
	f.Add([]byte("mem://d/a\n# x\n\nmem://d/*"))
	f.Add([]byte("\xef\xbb\xbfmem://d/{a,b}\r\n@x"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m := &mem.Store{}
		m.Put("d/a", nil)
		m.Put("list", content)
		found, err := shard.Discover(t.Context(), shard.Stores{"mem": m}, []string{"@mem://list"}, shard.DiscoverOptions{})
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d shards, %v", len(found), err)
		}
	})
}

// FuzzWalk: whatever the pattern, what is found exists, is sorted and is found once.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{"d", "d/*", "**/a", "{d,e}/[ab]", "d//a", "", "/", "d/../e", "**", "*/**/*"} {
		f.Add(seed)
	}
	m := &mem.Store{}
	names := []string{"a", "d/a", "d/b", "d/_c", "d/x/k=1/a", "e/a*", "e/[a]"}
	for _, name := range names {
		m.Put(name, nil)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		found, err := m.List(t.Context(), "mem://"+pattern)
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d shards, %v", len(found), err)
		}
		if all := uris(found); !slices.IsSorted(all) || len(slices.Compact(all)) != len(found) {
			t.Fatalf("%q", uris(found))
		}
		for _, s := range found {
			o, err := m.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			_ = o.Close()
		}
	})
}

// The source of a shard is the first address that finds it, however it is found best.
func TestDiscoverSource(t *testing.T) {
	s := stores("d/dt=1/a", "d/dt=2/b", "e/c")
	s["mem"].(*mem.Store).Put("list", []byte("mem://e/c\nmem://d/dt=2/b"))
	for _, c := range []struct {
		addresses string
		want      []int32 // of a, b, c
	}{
		{"mem://d mem://e", []int32{0, 0, 1}},
		{"mem://e mem://d", []int32{1, 1, 0}},
		{"@mem://list mem://d", []int32{1, 0, 0}},
	} {
		t.Run(c.addresses, func(t *testing.T) {
			found, err := shard.Discover(t.Context(), s, strings.Fields(c.addresses), shard.DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []int32
			for _, f := range found {
				got = append(got, f.Source)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("sources are %v, want %v", got, c.want)
			}
		})
	}
}

// Empty objects that mark directories are not shards, whether the directory holds files or not.
func TestDiscoverMarks(t *testing.T) {
	s := stores("t/k=1/a.parquet", "t/k=2/b.parquet", "u/c")
	m := s["mem"].(*mem.Store)
	for _, mark := range []string{"t", "t/k=1", "t/k=3", "u", "v/one.parquet"} {
		m.Put(mark, nil)
	}
	for _, c := range []struct{ address, want, noted string }{
		{"mem://t", "mem://t/k=1/a.parquet mem://t/k=2/b.parquet", "1 file is left out of mem://t, where the other files are parquet: k=3"},
		{"mem://t/k=1", "mem://t/k=1/a.parquet", ""},
		{"mem://t/**/*.parquet", "mem://t/k=1/a.parquet mem://t/k=2/b.parquet", ""},
		{"mem://t/k=[12]", "mem://t/k=1/a.parquet mem://t/k=2/b.parquet", ""},
		{"mem://u", "mem://u/c", ""},
		{"mem://{t/k=1,u}", "mem://t/k=1/a.parquet mem://u/c", ""},
		{"mem://v", "mem://v/one.parquet", ""}, // an error when its footer is read
	} {
		t.Run(c.address, func(t *testing.T) {
			var noted []string
			found, err := shard.Discover(t.Context(), s, []string{c.address}, shard.DiscoverOptions{Noted: func(text string) { noted = append(noted, text) }})
			if got := strings.Join(uris(found), " "); err != nil || got != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
			if got := strings.Join(noted, " "); got != c.noted {
				t.Errorf("noted %q, want %q", got, c.noted)
			}
		})
	}
}
