package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// write makes a file and the directories above it.
func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// list lists an address and returns the URIs.
func list(t *testing.T, address string) string {
	t.Helper()
	found, err := Store{}.List(t.Context(), address)
	if err != nil {
		return "error: " + err.Error()
	}
	all := make([]string, len(found))
	for i, s := range found {
		all[i] = s.URI
	}
	return strings.Join(all, " ")
}

// openOne lists an address that names one shard, and opens it.
func openOne(t *testing.T, address string) shard.Object {
	t.Helper()
	found, err := Store{}.List(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%s names %d shards", address, len(found))
	}
	o, err := Store{}.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func TestAddresses(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a b", "a%20b", "c d/x%2Fy", "100%", "~", "s3:/x"} {
		write(t, name, []byte(name))
	}
	for _, c := range []struct{ address, want string }{
		{"a", "a"},
		{"./a", "./a"},
		{"~", "~"},
		{"s3:/x", "s3:/x"},
		{"a b", "a b"},
		{"c d//", "c d/x%2Fy"},
		{"a%20b", "a%20b"},
		{"file://" + dir + "/a", "file://" + dir + "/a"},
		{"file://" + dir + "/a%20b", "file://" + dir + "/a%20b"}, // as it stands
		{"file://" + dir + "/c%20d", "file://" + dir + "/c%20d/x%252Fy"},
		{"file://" + dir + "/100%", "file://" + dir + "/100%"},
		{"file://" + dir + "/100%25", "file://" + dir + "/100%25"},
		{"file://" + dir + "/%61", "file://" + dir + "/%61"},
		{"file://" + dir + "/c%20d/*", "file://" + dir + "/c d/x%252Fy"},
		{"", "error: : list: bad address: it is empty"},
		{"{,a}", "error: {,a}: list: bad address: it is empty"},
		{"mem://a", "error: mem://a: list: bad address: mem:// is not a local file"},
		{"file://host/a", "error: file://host/a: list: bad address: a file address has three slashes and an absolute path, as in file:///data"},
		{"file:///no%20such", "error: file:///no%20such: list: does not exist: there is no such file or directory"},
		{strings.Repeat("x", 5000), "error: " + strings.Repeat("x", 400) + "...(5000 bytes)..." + strings.Repeat("x", 200) + ": list: does not exist: there is no such file or directory"},
		{"s3:/y", "error: s3:/y: list: does not exist: there is no such file or directory (give s3://y with two slashes; Python's Path drops one, so give a str)"},
		{"s3:/u:secret@y/*", "error: s3:/u:secret@y/*: list: does not exist: no file matches this pattern (give s3://u:***@y/* with two slashes; Python's Path drops one, so give a str)"},
		{"c:/y", "error: c:/y: list: does not exist: there is no such file or directory"},
		{"a/b/*", "error: a/b/*: list: does not exist: no file matches this pattern"},
		{"{1..2000000}", "error: {1..2000000}: list: bad address: the braces expand to more than 1048576 names"},
	} {
		t.Run(c.address, func(t *testing.T) {
			got := list(t, c.address)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if !strings.HasPrefix(got, "error") { // each address leads to the same file again
				if again := list(t, got); again != got {
					t.Errorf("%s, listed again: %s", got, again)
				}
				openOne(t, got)
			}
		})
	}
	store := Store{}
	for _, c := range []struct{ one, two string }{
		{"a", "./a"},
		{"a", dir + "/a"},
		{"a", "file://" + dir + "/%61"},
		{"file://" + dir + "/c%20d/x%252Fy", "c d/x%2Fy"},
		{"a%20b", "file:" + dir + "/a%20b"},
	} {
		t.Run(c.one, func(t *testing.T) {
			if one, two := store.Identity(c.one), store.Identity(c.two); one != two {
				t.Errorf("%s is %s, %s is %s", c.one, one, c.two, two)
			}
		})
	}
	if store.Identity("file://host/a") != "file://host/a" {
		t.Error("the identity of a bad address")
	}
}

func TestLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "data/a", []byte("a"))
	write(t, "other/b", []byte("bb"))
	for link, target := range map[string]string{
		"data/file":   "../other/b",
		"data/dir":    "../other",
		"data/self":   ".",
		"data/up":     "..",
		"other/again": "../data",
		"top":         "data",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
	}
	// A directory is entered behind a link unless it is already above; so the walk ends, and each
	// name is what find -L prints.
	for _, c := range []struct{ address, want string }{
		{"data", "data/a data/dir/b data/file data/up/other/b"},
		{"top", "top/a top/dir/b top/file top/up/other/b"},
		{"data/*", "data/a data/dir/b data/file data/up/other/b"},
		{"data/**/a", "data/a"},
		{"data/**/b", "data/dir/b data/up/other/b"},
		{"data/file", "data/file"},
	} {
		t.Run(c.address, func(t *testing.T) {
			if got := list(t, c.address); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	o := openOne(t, "data/file")
	if err := o.ReadAt(t.Context(), make([]byte, 2), 0); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("nowhere", "other/broken"); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, "other"), "error: other/broken: list: the link's target does not exist"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.Symlink("ring", "ring"); err != nil {
		t.Fatal(err)
	}
	if got := list(t, "ring"); !strings.HasPrefix(got, "error: ring: list: ") {
		t.Errorf("a link to itself: %s", got)
	}
}

func TestDenied(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "d/a", []byte("a"))
	found, err := Store{}.List(t.Context(), "d/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("d/a", 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open("d/a"); err == nil {
		f.Close()
		t.Skip("this user may read everything")
	}
	if _, err := (Store{}).Open(t.Context(), found[0]); !errors.Is(err, shard.ErrDenied) || err.Error() != "d/a: open: access denied" {
		t.Errorf("file: %v", err)
	}
	if err := os.Chmod("d", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod("d", 0o755)
	for _, address := range []string{"d", "d/a", "d/*", "**/a"} {
		if _, err := (Store{}).List(t.Context(), address); !errors.Is(err, shard.ErrDenied) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestChangeIsNamed checks the words that a user reads.
func TestChangeIsNamed(t *testing.T) {
	path := write(t, t.TempDir()+"/a.parquet", bytes.Repeat([]byte{7}, 1000))
	at := time.Unix(1_700_000_000, 5)
	later := time.Unix(1_700_000_001, 6)
	for _, c := range []struct {
		name, want string
		change     func() error
	}{
		{"shrunk", "was 1000 bytes, is 10", func() error { return os.Truncate(path, 10) }},
		{"grown", "was 1000 bytes, is 2000", func() error { return os.Truncate(path, 2000) }},
		{
			"rewritten", "was modified at 2023-11-14T22:13:20.000000005Z, now at 2023-11-14T22:13:21.000000006Z",
			func() error { return os.Chtimes(path, later, later) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, path, bytes.Repeat([]byte{7}, 1000))
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
			found, err := Store{}.List(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			o, err := Store{}.Open(t.Context(), found[0])
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			l, lends, err := shard.Lend(o, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			verify := func() error { return nil }
			if lends {
				defer l.Release()
				verify = func() error { return l.Verify(shard.Span{}) }
			}
			if err := verify(); err != nil {
				t.Fatal(err)
			}
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			want := ": changed since it was listed: " + c.want
			_, openErr := Store{}.Open(t.Context(), found[0])
			_, _, lendErr := shard.Lend(o, 0, 1000)
			for op, err := range map[string]error{
				"open":           openErr,
				"read":           o.ReadAt(t.Context(), make([]byte, 1000), 0),
				"read\x00verify": verify(),
				"read\x00lend":   lendErr,
				"read\x00within": o.ReadAt(t.Context(), make([]byte, 5), 0),
			} {
				op, how, _ := strings.Cut(op, "\x00")
				if !lends && (how == "lend" || how == "verify") {
					continue
				}
				if !errors.Is(err, shard.ErrChanged) || err.Error() != path+": "+op+want {
					t.Errorf("%s %s: got %v, want %s", op, how, err, path+": "+op+want)
				}
			}
		})
	}
}

// TestBeyondFourGiB reads a file with holes where 32-bit offsets end.
func TestBeyondFourGiB(t *testing.T) {
	const size, at = 5<<30 + 17, 9 << 29
	path := write(t, t.TempDir()+"/big", nil)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Skip(err)
	}
	if _, err := f.WriteAt([]byte("here"), at); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("end."), size-4); err != nil {
		t.Fatal(err)
	}
	o := openOne(t, path)
	for _, c := range []struct {
		off  int64
		want string
	}{{at - 1, "\x00here\x00"}, {size - 4, "end."}} {
		t.Run(fmt.Sprintf("%+v", c.off), func(t *testing.T) {
			p := make([]byte, len(c.want))
			if err := o.ReadAt(t.Context(), p, c.off); err != nil || string(p) != c.want {
				t.Errorf("read at %d: %q, %v", c.off, p, err)
			}
			l, ok, err := shard.Lend(o, c.off, int64(len(c.want)))
			if !ok {
				return
			}
			if err != nil || string(l.Bytes()) != c.want {
				t.Fatalf("a lease at %d: %v", c.off, err)
			}
			l.Release()
		})
	}
}

// TestLongRead reads more than is read between two looks at the context.
func TestLongRead(t *testing.T) {
	content := make([]byte, 2*maxRead+1)
	for i := range content {
		content[i] = byte(i ^ i>>20)
	}
	o := openOne(t, write(t, t.TempDir()+"/a", content))
	p := make([]byte, len(content)-3)
	if err := o.ReadAt(t.Context(), p, 3); err != nil || !bytes.Equal(p, content[3:]) {
		t.Fatalf("wrong bytes or %v", err)
	}
}

func TestInstant(t *testing.T) {
	if got := instant("no number"); got != "no number" {
		t.Errorf("got %q", got)
	}
	if got := instant(strconv.Itoa(0)); got != "1970-01-01T00:00:00.000000000Z" {
		t.Errorf("got %q", got)
	}
}

// TestSlashesBehindGlob: segments without a name change nothing behind a glob either.
func TestSlashesBehindGlob(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "d/x/y/a", nil)
	for _, address := range []string{"d/*//y/a", "d/*/./y/a", "./d//*/y///a", "d/**//a", "d/*//"} {
		if got := list(t, address); got != "d/x/y/a" && got != "./d//x/y/a" {
			t.Errorf("%s: got %s", address, got)
		}
	}
}

// TestSlashesBehindDirectory: partitions are those below the directory, however it is spelled.
func TestSlashesBehindDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/k=1/a", nil)
	for _, slashes := range []string{"", "/", "//", "/./", "///"} {
		found, err := Store{}.List(t.Context(), dir+slashes)
		if err != nil || len(found) != 1 || len(found[0].Partitions) != 1 || found[0].Partitions[0].Value != "1" {
			t.Errorf("%q: %+v, %v", slashes, found, err)
		}
	}
}
