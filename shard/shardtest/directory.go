package shardtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Directory is the part of a [Fixture] that holds files in a directory. It replaces files as good
// writers do: by renaming.
type Directory struct {
	Root   string
	writes int
}

// Write implements [Fixture].
func (d *Directory) Write(t testing.TB, name string, content []byte) {
	path := filepath.Join(d.Root, name)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return // a directory named like a file
	}
	temporary := filepath.Join(d.Root, ".tmp")
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		t.Fatal(err)
	}
	d.writes++ // the clock of a file system can be slower than this test
	at := time.Unix(1_700_000_000, int64(d.writes))
	if err := os.Chtimes(temporary, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// Remove implements [Fixture].
func (d *Directory) Remove(t testing.TB, name string) {
	if err := os.Remove(filepath.Join(d.Root, name)); err != nil {
		t.Fatal(err)
	}
}
