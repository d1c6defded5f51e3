package shardfeed

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// The second start of a table with deleted rows reads neither delete files nor data files, as long as
// the directory of footers has what the first one found.
func TestSecondStartWithDeletes(t *testing.T) {
	t.Run("delta", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/tables/delta/vectors")); err != nil {
			t.Fatal(err)
		}
		checkSecondStart(t, "delta+"+dir, dir, 39)
	})
	for name, rows := range map[string]int64{
		"eq": 176, // equality deletes and position deletes
		"v2": 74,  // position deletes
		"v3": 86,  // deletion vectors
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			unzipTable(t, "testdata/tables/iceberg/"+name+".zip", dir)
			checkSecondStart(t, "iceberg+"+dir, dir+"/data", rows)
		})
	}
}

// checkSecondStart counts the rows of a table, and again when all files below a directory have lost
// their content.
func checkSecondStart(t *testing.T, address, files string, rows int64) {
	t.Helper()
	t.Setenv(dirVariable, t.TempDir())
	s := Spec{Addresses: []string{address}, Columns: []string{"id"}, BatchSize: 4}
	if n := openSpec(t, s).NumSamples(); n != rows {
		t.Fatalf("%d rows, want %d", n, rows)
	}
	if n, err := emptyFiles(files); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if n := openSpec(t, s).NumSamples(); n != rows {
		t.Errorf("the second start has %d rows, want %d", n, rows)
	}
	t.Setenv(dirVariable, t.TempDir())
	if d, err := Open(t.Context(), s, Events{}); err == nil {
		_ = d.Close(t.Context())
		t.Error("a start without the directory reads no files")
	}
}

func unzipTable(t *testing.T, name, dir string) {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// emptyFiles writes zeros over the files below a directory, except a log's, so that all who read
// them fail.
func emptyFiles(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "_delta_log" {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		n++
		return os.WriteFile(name, make([]byte, info.Size()), 0o600)
	})
	return n, err
}
