package shardfeed

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The second start of a table with equality deletes reads neither their files nor data files, as
// long as the directory of footers has what the first one found. Position deletes are read again.
func TestSecondStartWithEqualityDeletes(t *testing.T) {
	z, err := zip.OpenReader("testdata/tables/iceberg/eq.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	t.Setenv(dirVariable, first)
	s := Spec{Addresses: []string{"iceberg+" + dir}, Columns: []string{"id"}, BatchSize: 4}
	if n := openSpec(t, s).NumSamples(); n != 176 {
		t.Fatalf("%d rows, want 176", n)
	}

	if err := emptyFiles(dir + "/data"); err != nil {
		t.Fatal(err)
	}
	if n := openSpec(t, s).NumSamples(); n != 176 {
		t.Errorf("the second start has %d rows, want 176", n)
	}
	t.Setenv(dirVariable, t.TempDir())
	if d, err := Open(t.Context(), s, Events{}); err == nil {
		_ = d.Close(t.Context())
		t.Error("a start without the directory reads no files")
	}
}

// emptyFiles writes zeros over the files of a directory except position deletes, so that all who
// read them fail.
func emptyFiles(dir string) error {
	names, err := filepath.Glob(dir + "/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err == nil && !bytes.Contains(content, []byte("file_path")) {
			err = os.WriteFile(name, make([]byte, len(content)), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
