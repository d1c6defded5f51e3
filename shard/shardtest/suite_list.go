package shardtest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// A listCase writes files and lists one name.
type listCase struct {
	name    string
	files   []string
	pattern string
	want    []string // name, then " key=value" for each partition; nil: ErrNotExist
}

var table = []string{
	"table/dt=2026-01-01/a.parquet", "table/dt=2026-01-01/b.parquet",
	"table/dt=2026-01-02/a.parquet", "table/_SUCCESS",
}

var listCases = []listCase{
	{"file", []string{"a", "b"}, "a", []string{"a"}},
	{"missing", []string{"a"}, "b", nil},
	{"prefix is no name", []string{"abc"}, "ab", nil},
	{"missing in a file", []string{"a"}, "a/b", nil},
	{"directory", []string{"d/b", "d/a", "e/c"}, "d", []string{"d/a", "d/b"}},
	{"directory with slash", []string{"d/a"}, "d/", []string{"d/a"}},
	{"sibling of a directory", []string{"d/a", "d-2/b", "d.x"}, "d", []string{"d/a"}},
	{"recursive", []string{"d/a", "d/x/y/z", "d/x/w"}, "d", []string{"d/a", "d/x/w", "d/x/y/z"}},
	{
		"hidden",
		[]string{"d/a", "d/.b", "d/_c", "d/.e/f", "d/_g/h", "d/_k=1/i", "d/j._COPYING_", "d/.a.crc", "d/a.crc", "d/_metadata"},
		"d",
		[]string{"d/_k=1/i _k=1", "d/a"},
	},
	{"hidden named outright", []string{"d/_a"}, "d/_a", []string{"d/_a"}},
	{"hidden directory named outright", []string{"_d/a"}, "_d", []string{"_d/a"}},
	{"only hidden", []string{"d/_a"}, "d", nil},
	{"star", []string{"d/a1", "d/a2", "d/b1"}, "d/a*", []string{"d/a1", "d/a2"}},
	{"star stays in its segment", []string{"d/x/a", "d/y/z/a"}, "d/*/a", []string{"d/x/a"}},
	{"star hides", []string{"d/a", "d/_b", "d/.c"}, "d/*", []string{"d/a"}},
	{"spelled hidden", []string{"d/a", "d/_b"}, "d/_*", []string{"d/_b"}},
	{"star matches directories", []string{"d/x/a", "d/y"}, "d/*", []string{"d/x/a", "d/y"}},
	{"question mark", []string{"a1", "a2", "a10"}, "a?", []string{"a1", "a2"}},
	{"set", []string{"a1", "a2", "a3"}, "a[13]", []string{"a1", "a3"}},
	{"negated set", []string{"a1", "a2", "a3"}, "a[!13]", []string{"a2"}},
	{"no match", []string{"a1"}, "b*", nil},
	{"no match below a file", []string{"a"}, "a/*", nil},
	{"double star", []string{"d/a.p", "d/x/b.p", "d/x/y/c.p", "d/x/d.q"}, "d/**/*.p", []string{"d/a.p", "d/x/b.p", "d/x/y/c.p"}},
	{"double star hides", []string{"d/a.p", "d/_x/b.p"}, "d/**/*.p", []string{"d/a.p"}},
	{"double star doubled", []string{"d/a", "d/x/a", "d/x/y/b"}, "**/**/x/**/[ab]", []string{"d/x/a", "d/x/y/b"}},
	{"double star finds directories", []string{"d/t.p/_x", "d/t.p/1", "d/u/t.p/2"}, "**/*.p", []string{"d/t.p/1", "d/u/t.p/2"}},
	{"double star finds nothing", []string{"d/x/b"}, "e/**/b", nil},
	{"double star last", []string{"d/a", "d/x/b"}, "d/**", []string{"d/a", "d/x/b"}},
	{"double star and a slash", []string{"d/a", "d/x/b"}, "d/**/", []string{"d/a", "d/x/b"}},
	{"glob above a directory", []string{"d/x/e/1", "d/y/e/_h", "d/y/e/z/2", "d/z/f/3"}, "d/*/e", []string{"d/x/e/1", "d/y/e/z/2"}},
	{"globs in many segments", []string{"d/k=1/l=1/a.p", "d/k=1/l=2/b.q", "d/k=2/l=1/a.p", "d/m/l=1/a.p"}, "d/k=*/l=[12]/*.p", []string{
		"d/k=1/l=1/a.p k=1 l=1", "d/k=2/l=1/a.p k=2 l=1",
	}},
	{"braces", []string{"s-08", "s-09", "s-10", "s-11"}, "s-{08..10}", []string{"s-08", "s-09", "s-10"}},
	{"braces with a gap", []string{"s-08", "s-10"}, "s-{08..10}", nil},
	{"many braces", numbered("s-", 40), "s-{00..39}", numbered("s-", 40)},
	{"many braces with a gap", numbered("s-", 39), "s-{00..39}", nil},
	{"many braces that are directories", numbered("d/s-", 20, "/a"), "d/s-{00..19}", numbered("d/s-", 20, "/a")},
	{"words", []string{"d/x/1", "d/y/1", "d/z/1"}, "d/{x,z}/*", []string{"d/x/1", "d/z/1"}},
	{"braces twice the same", []string{"a"}, "{a,a}", []string{"a"}},
	{"literal star", []string{"a*", "ab"}, "a*", []string{"a*"}},
	{"literal set", []string{"a[1]", "a1"}, "a[1]", []string{"a[1]"}},
	{"literal directory below which a glob", []string{"d[1]/x", "d1/x"}, "d[1]/*", []string{"d[1]/x"}},
	{"no literal behind a glob", []string{"x/a[1]", "x/a1"}, "*/a[1]", []string{"x/a1"}},
	{"literal braces", []string{"{a,b}", "a", "b"}, "{a,b}", []string{"{a,b}"}},
	{"escaped", []string{"a*", "ab"}, `\a\*`, []string{"a*"}},
	{"partitions of a directory", table, "table", []string{
		"table/dt=2026-01-01/a.parquet dt=2026-01-01", "table/dt=2026-01-01/b.parquet dt=2026-01-01", "table/dt=2026-01-02/a.parquet dt=2026-01-02",
	}},
	{"none above the directory", table, "table/dt=2026-01-01", []string{"table/dt=2026-01-01/a.parquet", "table/dt=2026-01-01/b.parquet"}},
	{"none of a file", table, "table/dt=2026-01-01/a.parquet", []string{"table/dt=2026-01-01/a.parquet"}},
	{"partitions of a glob", table, "table/dt=*/a.parquet", []string{
		"table/dt=2026-01-01/a.parquet dt=2026-01-01", "table/dt=2026-01-02/a.parquet dt=2026-01-02",
	}},
	{"partitions of matched directories", table, "table/dt=*2", []string{"table/dt=2026-01-02/a.parquet dt=2026-01-02"}},
	{"partitions of braces", table, "table/dt={2026-01-02,2026-01-01}/a.parquet", []string{
		"table/dt=2026-01-01/a.parquet dt=2026-01-01", "table/dt=2026-01-02/a.parquet dt=2026-01-02",
	}},
	{"none before the glob", []string{"k=1/l=2/a"}, "k=1/*/a", []string{"k=1/l=2/a l=2"}},
	{"none before the brace", []string{"k=1/l=2/a", "k=1/l=3/a"}, "k=1/l={2,3}", []string{"k=1/l=2/a l=2", "k=1/l=3/a l=3"}},
	{"none before the first of both", []string{"j=0/k=1/l=2/a"}, "j=0/k={1,1}/l=*", []string{"j=0/k=1/l=2/a k=1 l=2"}},
	{"none of a file's own name", []string{"d/k=1/l=2"}, "d", []string{"d/k=1/l=2 k=1"}},
	{"nested partitions", []string{"d/k=1/x/l=2/a"}, "d", []string{"d/k=1/x/l=2/a k=1 l=2"}},
	{"decoded partitions", []string{"d/k=a%2Fb%20c/a", "d/k=__HIVE_DEFAULT_PARTITION__/a", "d/k=/a"}, "d", []string{
		"d/k=/a k=", "d/k=__HIVE_DEFAULT_PARTITION__/a k:null", "d/k=a%2Fb%20c/a k=a/b c",
	}},
}

func numbered(before string, n int, after ...string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%02d%s", before, i, strings.Join(after, ""))
	}
	return all
}

func (c listCase) run(t *testing.T, f Fixture) {
	if u, ok := f.(Unlister); ok && !u.Shared(c.pattern) {
		t.Skip("the pattern has another meaning there")
	}
	for _, name := range c.files {
		f.Write(t, name, []byte(name))
	}
	found, err := f.Store().List(t.Context(), f.Address(c.pattern))
	skipUnlisted(t, f, err)
	if c.want == nil {
		if !errors.Is(err, shard.ErrNotExist) || !errors.Is(err, fs.ErrNotExist) || found != nil {
			t.Fatalf("%d shards and error %v, want none and one that is %q", len(found), err, shard.ErrNotExist)
		}
		if address := f.Address(""); !strings.HasPrefix(err.Error(), address) {
			t.Fatalf("error %q does not start with an address in %s", err, address)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(c.want))
	for i, w := range c.want {
		want[i] = f.Address(w)
	}
	got := make([]string, len(found))
	for i, s := range found {
		got[i] = describe(s)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func describe(s shard.Shard) string {
	text := s.URI
	for _, p := range s.Partitions {
		if p.Null && p.Value == "" {
			text += " " + p.Key + ":null"
		} else {
			text += " " + p.Key + "=" + p.Value
		}
	}
	return text
}

// listDescribes: size and version are the same however a shard was found, until it changes.
func listDescribes(t *testing.T, f Fixture) {
	f.Write(t, "d/a", content(1, 1000))
	named := listOne(t, f, "d/a")
	if named.Size != 1000 || named.Version == "" {
		t.Fatalf("size %d, version %q", named.Size, named.Version)
	}
	addresses := []string{"d/a", "{d,d}/a", "d", "d/", "d/*", "**/a"}
	if _, unlisted := f.(Unlister); unlisted {
		addresses = addresses[:2]
	}
	for _, address := range addresses {
		if s := listOne(t, f, address); s.Size != named.Size || s.Version != named.Version {
			t.Fatalf("%s: size and version %d, %s; by name %d, %s", address, s.Size, s.Version, named.Size, named.Version)
		}
	}
	f.Write(t, "d/a", content(2, 1000))
	if s := listOne(t, f, "d/a"); s.Version == named.Version {
		t.Fatal("another content of equal size has the same version")
	}
}

func listCancelled(t *testing.T, f Fixture) {
	f.Write(t, "d/a", nil)
	for _, address := range []string{"d/a", "d", "d/*"} {
		ctx := cancelled(t)
		if found, err := f.Store().List(ctx, f.Address(address)); !errors.Is(err, ctx.Err()) || found != nil {
			t.Fatalf("%s: %d shards, error %v", address, len(found), err)
		}
	}
}

// listManySorted has more shards than a page of most services' lists.
func listManySorted(t *testing.T, f Fixture) {
	for i := range 1100 {
		f.Write(t, fmt.Sprintf("d/%d", i), []byte{1})
	}
	f.Write(t, "d/1-1", []byte{1})
	f.Write(t, "d/1/1", []byte{1}) // in stores of flat keys, a file and a directory can share a name; elsewhere Write may leave it out
	found, err := f.Store().List(t.Context(), f.Address("d"))
	skipUnlisted(t, f, err)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 1101 {
		t.Fatalf("%d shards of 1101", len(found))
	}
	if !slices.IsSortedFunc(found, func(a, b shard.Shard) int { return strings.Compare(a.URI, b.URI) }) {
		t.Fatal("not sorted by URI")
	}
}

// oddNames: what a directory lists can be opened, and listed again, by its URI.
func oddNames(t *testing.T, f Fixture) {
	names := []string{
		"a b.parquet", " lead", "trail ", "한글.parquet", "naïve-\u00e9", "nai\u0308ve", "100%.parquet", "a%20b", "a+b", "a#b", "a=b&c",
		"q?x", "it's", `say "x"`, "semi;colon", "a,b", "a:b", "(1)", "a@b", "~", "back\\slash", "tab\there", "k=v%2Fw/x",
	}
	if n, ok := f.(Namer); ok {
		names = slices.DeleteFunc(names, func(name string) bool { return !n.Legal(name) })
	}
	for i, name := range names {
		f.Write(t, "odd/"+name, content(uint64(i), 10+i))
	}
	found, err := f.Store().List(t.Context(), f.Address("odd"))
	skipUnlisted(t, f, err)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(names) {
		t.Fatalf("%d shards of %d", len(found), len(names))
	}
	for _, s := range found {
		i := int(s.Size) - 10
		o, err := f.Store().Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, o, content(uint64(i), 10+i), 0, s.Size)
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := f.Store().List(t.Context(), s.URI)
		if err != nil || len(again) != 1 || again[0].Version != s.Version || again[0].URI != s.URI {
			t.Fatalf("%s listed by its own URI: %v, %v", s.URI, again, err)
		}
	}
}
