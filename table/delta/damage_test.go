package delta_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
)

// logFile is the path of a file in the log of a table.
func logFile(dir, name string) string { return filepath.Join(dir, "_delta_log", name) }

// copied is a copy of a golden table.
func copied(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/tables/delta/"+name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A damaged checkpoint is replaced by older ones and commits, as long as these are all there.
func TestDamagedCheckpoint(t *testing.T) {
	const checkpoint = "00000000000000000006.checkpoint.parquet"
	uris := func(s *table.Snapshot) (all []string) {
		for _, f := range s.Files {
			all = append(all, filepath.Base(f.Shard.URI))
		}
		return all
	}
	whole, err := delta.Open(t.Context(), copied(t, "tracked"), options(local.New(), ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"cut":   func(b []byte) []byte { return b[:len(b)/2] },
		"empty": func([]byte) []byte { return nil },
		"page": func(b []byte) []byte {
			clear(b[4:600])
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, "tracked")
			b, err := os.ReadFile(logFile(dir, checkpoint))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(logFile(dir, checkpoint), damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := delta.Open(t.Context(), dir, options(local.New(), ""))
			if err != nil || !slices.Equal(uris(s), uris(whole)) || s.Name != whole.Name || !slices.Equal(s.FirstRows(), whole.FirstRows()) {
				t.Errorf("%+v, %v", s, err)
			}
			if err := os.Remove(logFile(dir, "00000000000000000003.json")); err != nil {
				t.Fatal(err)
			}
			_, err = delta.Open(t.Context(), dir, options(local.New(), ""))
			for _, want := range []string{"delta+" + dir + ": table: the checkpoint of version 6 cannot be read", checkpoint, "(restore the file, or"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
		})
	}
}

// A commit that is cut within a line is named, with a way to read the table.
func TestUnfinishedCommit(t *testing.T) {
	store := &mem.Store{}
	put(store, head(plainProtocol, idColumn, "[]", "{}"), addLine("a", ""), addLine("b", "")[:40])
	_, err := delta.Open(t.Context(), "mem://t", options(store, ""))
	for _, want := range []string{"00000000000000000002.json", "not of the known form", "try again; else read version 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if s, err := delta.Open(t.Context(), "mem://t", options(store, "1")); err != nil || len(s.Files) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
