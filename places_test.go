package shardfeed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
)

// The spec wins over the environment; the index, the lists and the notes lie beside the cache.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{dirVariable, "SLURM_TMPDIR", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	for _, c := range []struct{ set, given, want string }{
		{"HOME", "", filepath.Join(home, ".cache", "shardfeed")},
		{"XDG_CACHE_HOME", "", "/x/shardfeed"},
		{"SLURM_TMPDIR", "", "/x/shardfeed"},
		{dirVariable, "", "/x"},
		{dirVariable, "/given", "/given"},
		{dirVariable, "~/given", filepath.Join(home, "given")},
		{dirVariable, "~", home},
		{dirVariable, "~given", "~given"},
	} {
		if c.set != "HOME" {
			t.Setenv(c.set, "/x")
		}
		want := Places{Root: c.want, Index: filepath.Join(c.want, "index"), Manifests: filepath.Join(c.want, "manifests"), Lanes: filepath.Join(c.want, "seats"), Checked: filepath.Join(c.want, "checked")}
		if got := (Spec{Caching: Caching{CacheDir: c.given}}).Places(); got != want {
			t.Errorf("%s: got %+v, want %+v", c.set, got, want)
		}
	}
}

func TestCacheLimitIn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(limitVariable, "")
	usual, err := Spec{}.CacheLimitIn(filepath.Join(dir, "not", "there"))
	if err != nil || usual < 1<<20 || usual > 100<<30 {
		t.Errorf("by default %d, %v", usual, err)
	}
	t.Setenv(limitVariable, "3MiB")
	if got, err := (Spec{}).CacheLimitIn(dir); err != nil || got != 3<<20 {
		t.Errorf("by the environment %d, %v", got, err)
	}
	if got, err := (Spec{Caching: Caching{CacheLimit: "5MiB"}}).CacheLimitIn(dir); err != nil || got != 5<<20 {
		t.Errorf("as given %d, %v", got, err)
	}
	if got, err := (Spec{Caching: Caching{CacheLimit: "10%"}}).CacheLimitIn(dir); err != nil || got < 5<<20 {
		t.Errorf("as a part %d, %v", got, err)
	}
}

// What waits for the disk is a part of the stream's memory, within bounds.
func TestPending(t *testing.T) {
	for memory, want := range map[string]int64{
		"1MiB": 256 << 10, "64MiB": 8 << 20, "256MiB": 16 << 20, "512MiB": 32 << 20, "64GiB": 64 << 20,
	} {
		if got := (Spec{Memory: memory}).part(pendingPart, leastPending, mostPending); got != want {
			t.Errorf("%d of %s may wait, want %d", got, memory, want)
		}
	}
}

// What to do is said once, fits what is wrong, and each face spells it.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"unfit", fmt.Errorf("cache /c: %w: /c is on NFS; give a directory on a local disk", cache.ErrUnfit), "a local disk"},
		{"no room", fmt.Errorf("cache /c: %w", cache.ErrNoRoom), "(make room there, or name a directory on another disk with --cache-dir)"},
		{"read-only", fmt.Errorf("cache /c: %w", syscall.EROFS), "(name another directory with --cache-dir)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := elsewhere(c.err)
			if got := option.Spelled(err, option.Flag); !errors.Is(err, c.err) || !strings.HasSuffix(got, c.want) {
				t.Error(got)
			}
		})
	}
}

// A cache that others could have written is left out with one line; one that the spec names is an
// error.
func TestCacheNotTrusted(t *testing.T) {
	root := t.TempDir()
	if cache.Fit(root) != nil {
		t.Skip("the directory for temporary files cannot hold a cache")
	}
	if err := os.MkdirAll(filepath.Join(root, "v1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "v1"), 0o777); err != nil {
		t.Fatal(err)
	}
	const want = "v1 can be written by its group or by others; run chmod -R go-w "
	t.Run("by the environment", func(t *testing.T) {
		t.Setenv(dirVariable, root)
		var noted []string
		c, err := Spec{}.openCache(root, Events{Note: func(text string) { noted = append(noted, text) }})
		if c != nil || err != nil || len(noted) != 1 || !strings.Contains(noted[0], want) {
			t.Errorf("%v, %v, noted %q", c, err, noted)
		}
	})
	t.Run("by the spec", func(t *testing.T) {
		c, err := Spec{Caching: Caching{CacheDir: root}}.openCache(root, Events{})
		if c != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "(name another directory with CacheDir)") {
			t.Errorf("%v, %v", c, err)
		}
	})
}

func TestAnyRemote(t *testing.T) {
	dir := t.TempDir()
	near, mixed := filepath.Join(dir, "near"), filepath.Join(dir, "mixed")
	for name, text := range map[string]string{
		near: "a.parquet\n# s3://bucket/no\nfile:///b.parquet\n", mixed: "a.parquet\n  s3://bucket/b.parquet\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		addresses []string
		want      bool
	}{
		{[]string{"data/", "file:///data", "mem://a", "c:odd"}, false},
		{[]string{"data/", "s3://bucket/data"}, true},
		{[]string{"S3A://bucket/data"}, true},
		{[]string{"hdfs:///data"}, true},
		{[]string{"@" + near}, false},
		{[]string{"@file://" + near}, false},
		{[]string{"@" + mixed}, true},
		{[]string{"@file://" + mixed}, true},
		{[]string{"@s3://bucket/list"}, true},
		{[]string{"@" + filepath.Join(dir, "none")}, false},
	} {
		t.Run(strings.Join(c.addresses, " "), func(t *testing.T) {
			if got := AnyRemote(c.addresses); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestIndexDir(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", ""},
		{"HOME=/home/u", "/home/u/.cache/shardfeed/index"},
		{"HOME=/home/u XDG_CACHE_HOME=/c", "/c/shardfeed/index"},
		{"HOME=/home/u XDG_CACHE_HOME=/c SLURM_TMPDIR=/job", "/job/shardfeed/index"},
		{"HOME=/home/u XDG_CACHE_HOME=/c SLURM_TMPDIR=/job SHARDFEED_CACHE_DIR=/d", "/d/index"},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		if got := indexDir(func(k string) string { return env[k] }); got != filepath.FromSlash(c.want) {
			t.Errorf("%q gives %q, want %q", c.env, got, c.want)
		}
	}
}
