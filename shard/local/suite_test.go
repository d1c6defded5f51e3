package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// fixture is a directory whose files are replaced as good writers do it: by renaming.
type fixture struct {
	store        Store
	root, prefix string
	writes       int
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return f.prefix + f.root
	}
	return f.prefix + f.root + "/" + name
}

func (f *fixture) Write(t testing.TB, name string, content []byte) {
	path := filepath.Join(f.root, name)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return // a directory named like a file
	}
	temporary := filepath.Join(f.root, ".tmp")
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f.writes++ // the clock of a file system can be slower than this test
	at := time.Unix(1_700_000_000, int64(f.writes))
	if err := os.Chtimes(temporary, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) Remove(t testing.TB, name string) {
	if err := os.Remove(filepath.Join(f.root, name)); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	for _, prefix := range []string{"", "file://", "file:", "FILE://localhost"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
				return &fixture{store: New(), root: t.TempDir(), prefix: prefix}
			})
		})
	}
}

func TestSuiteRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	n := 0
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		n++
		return &fixture{store: New(), root: filepath.Join("r", time.Unix(int64(n), 0).UTC().Format("05-04"))}
	})
}
