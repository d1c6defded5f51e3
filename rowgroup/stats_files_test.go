package rowgroup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// All that statistics say is true of the files of testdata, and of all parquet files below the
// directory SHARDFEED_STATS_FILES, such as the matrix of writers (testdata/matrix).
func TestStatsOfFilesAreTrue(t *testing.T) {
	dirs := []string{filepath.Join("..", "testdata", "shop")}
	if dir := os.Getenv("SHARDFEED_STATS_FILES"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".parquet") && e.Type().IsRegular() {
				t.Run(path, func(t *testing.T) { checkFile(t, path) })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	store := &local.Store{}
	shards, err := store.List(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	m := openRules(t, store, shards)
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Logf("%+v", checkStats(t, m))
}

// openRules opens shards with all their columns as rule columns.
func openRules(t *testing.T, store shard.Store, shards []shard.Shard) *Reader {
	t.Helper()
	all, err := Open(context.Background(), store, shards, Options{})
	if e := (*Error)(nil); errors.As(err, &e) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	paths := leafPaths(all.Schema().Fields, "")
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := Open(context.Background(), store, shards, Options{RuleColumns: ruleColumns(paths, true)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
