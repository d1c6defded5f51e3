//go:build linux

package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

const stranger = 12345 // a user that runs nothing here

// giveAway makes files another user's, which only root can.
func giveAway(t testing.TB, paths ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	for _, path := range paths {
		if err := os.Lchown(path, stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
}

func chmod(t testing.TB, mode fs.FileMode, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// move puts a symbolic link in the place of a file or directory and returns where it leads.
func move(t testing.TB, path string) string {
	t.Helper()
	to := path + ".elsewhere"
	if err := errors.Join(os.Rename(path, to), os.Symlink(to, path)); err != nil {
		t.Fatal(err)
	}
	return to
}

// filledDir returns a directory whose cache holds a shard of the content, the shard and its file.
func filledDir(t testing.TB, content []byte) (dir string, store *shardtest.Faults, s shard.Shard, path string) {
	t.Helper()
	dir = testDir(t)
	store, s = one(t, content)
	c, err := Open(Options{Dir: dir, Limit: 1 << 30, MinFree: 0.0001})
	if err != nil {
		t.Fatal(err)
	}
	o := openShard(t, c, store, s)
	expect(t, o, content, 0, len(content))
	settle(t, c)
	path, _ = fileOf(t, c, store, s)
	closeTest(t, c)
	return dir, store, s, path
}

// TestUntrustedDirectory: a directory that another user could have written is refused by all that
// opens it.
func TestUntrustedDirectory(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, v1 string)
		says  string
	}{
		{"symbolic link", func(t *testing.T, v1 string) { move(t, v1) }, "is a symbolic link; remove it"},
		{"another user's", func(t *testing.T, v1 string) { giveAway(t, v1) }, "belongs to user 12345"},
		{"writable by the group", func(t *testing.T, v1 string) { chmod(t, 0o770, v1) }, "run chmod -R go-w"},
		{"writable by others", func(t *testing.T, v1 string) { chmod(t, 0o1777, v1) }, "run chmod -R go-w"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, _, _, path := filledDir(t, random(1, 100_000))
			test.spoil(t, filepath.Join(dir, formatDir))
			check := func(what string, err error) {
				if !errors.Is(err, trusted.ErrUntrusted) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			c, err := Open(Options{Dir: dir, Limit: 1 << 30})
			if err == nil {
				closeTest(t, c)
			}
			check("Open", err)
			_, err = List(t.Context(), dir)
			check("List", err)
			_, err = Usage(dir)
			check("Usage", err)
			_, err = Verify(t.Context(), dir, nil)
			check("Verify", err)
			_, err = Clear(t.Context(), dir)
			check("Clear", err)
			if _, err := os.Stat(path); err != nil {
				t.Error("Clear removed what it must not trust:", err)
			}
		})
	}
}

// TestUntrustedFile: a planted shard file with right sums is not delivered, wherever it came from.
func TestUntrustedFile(t *testing.T) {
	content, planted := random(1, 200_000), random(2, 200_000)
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, path string)
	}{
		{"writable by others", func(t *testing.T, path string) { chmod(t, 0o666, path) }},
		{"another user's", func(t *testing.T, path string) { chmod(t, 0o666, path); giveAway(t, path) }},
		{"symbolic link", func(t *testing.T, path string) { move(t, path) }},
		{"a family that is a symbolic link", func(t *testing.T, path string) {
			to := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), "outside")
			if err := errors.Join(os.Rename(filepath.Dir(path), to), os.Symlink(to, filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
		}},
		{"FIFO", func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, store, s, path := filledDir(t, content)
			plant(t, path, store, s, planted)
			test.spoil(t, path)
			c := openTest(t, Options{Dir: dir})
			o := openShard(t, c, store, s)
			expect(t, o, content, 0, len(content))
			settle(t, c)
			expect(t, o, content, 0, len(content))
		})
	}
}

// plant writes other bytes into a shard file, with sums that fit.
func plant(t testing.TB, path string, store shard.Store, s shard.Shard, planted []byte) {
	t.Helper()
	k, _ := keyOf(store, s)
	l := fileLayoutOf(k)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := range blocksOf(l.size) {
		lo, hi := b*blockSize, b*blockSize+int64(blockLen(l.size, b))
		word := leBytes(int64(newEntry(crc.Of(planted[lo:hi]), 0, int(hi-lo))))
		if _, err := f.WriteAt(word, l.header+8*b); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(planted[lo:hi], l.data+lo); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlantIsDelivered shows that what TestUntrustedFile plants would be delivered from a file that
// is trusted.
func TestPlantIsDelivered(t *testing.T) {
	content, planted := random(1, 200_000), random(2, 200_000)
	dir, store, s, path := filledDir(t, content)
	plant(t, path, store, s, planted)
	c := openTest(t, Options{Dir: dir})
	expect(t, openShard(t, c, store, s), planted, 0, len(planted))
}

// TestUntrustedAccount: the account is not written through a link, nor used when it is another
// user's.
func TestUntrustedAccount(t *testing.T) {
	for _, name := range []string{usageName, lockName} {
		t.Run(name, func(t *testing.T) {
			dir := testDir(t)
			victim := filepath.Join(dir, "victim")
			if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Mkdir(filepath.Join(dir, formatDir), 0o700),
				os.Symlink(victim, filepath.Join(dir, formatDir, name))); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(Options{Dir: dir, Limit: 1 << 30}); err == nil {
				closeTest(t, c)
				t.Error("it was opened through a link")
			}
			if b, err := os.ReadFile(victim); string(b) != "precious" {
				t.Errorf("the file that the link leads to holds %d bytes, %v", len(b), err)
			}
		})
	}
}

// TestReplacedDirectory: a link that takes the directory's place while the cache is open is not
// followed.
func TestReplacedDirectory(t *testing.T) {
	content := random(1, 200_000)
	dir := testDir(t)
	store, s := one(t, content)
	c := openTest(t, Options{Dir: dir})
	v1, elsewhere := filepath.Join(dir, formatDir), filepath.Join(dir, "elsewhere")
	if err := errors.Join(os.Rename(v1, v1+".away"), os.Mkdir(elsewhere, 0o777), os.Symlink(elsewhere, v1)); err != nil {
		t.Fatal(err)
	}
	expect(t, openShard(t, c, store, s), content, 0, len(content))
	settle(t, c)
	if names, err := os.ReadDir(elsewhere); len(names) > 0 || err != nil {
		t.Errorf("it wrote %v through the link, %v", names, err)
	}
	if c.Stats().FilledBytes != int64(len(content)) {
		t.Errorf("%+v", c.Stats())
	}
}

// TestPrivate: what the cache makes is its user's alone, whatever the umask.
func TestPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(testDir(t), "made")
	store, s := one(t, random(1, 100_000))
	c := openTest(t, Options{Dir: dir})
	expect(t, openShard(t, c, store, s), random(1, 100_000), 0, 100_000)
	settle(t, c)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
