package local

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// fixture is a directory.
type fixture struct {
	shardtest.Directory
	store  Store
	prefix string
}

func (f *fixture) Store() shard.Store { return f.store }

func (f *fixture) Address(name string) string {
	if name == "" {
		return f.prefix + f.Root
	}
	return f.prefix + f.Root + "/" + name
}

func TestSuite(t *testing.T) {
	for _, prefix := range []string{"", "file://", "file:", "FILE://localhost"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
				return &fixture{store: New(), Directory: shardtest.Directory{Root: t.TempDir()}, prefix: prefix}
			})
		})
	}
}

func TestSuiteRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	n := 0
	shardtest.Run(t, func(t *testing.T) shardtest.Fixture {
		n++
		return &fixture{store: New(), Directory: shardtest.Directory{Root: filepath.Join("r", time.Unix(int64(n), 0).UTC().Format("05-04"))}}
	})
}
