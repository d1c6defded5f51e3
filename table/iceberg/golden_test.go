package iceberg_test

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/iceberg"
	"github.com/shardfeed/shardfeed/table/scan"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

const goldenDir = "../../testdata/tables/iceberg"

// unzip writes the files of a table below a directory.
func unzip(t *testing.T, path, to string) {
	t.Helper()
	if err := os.CopyFS(to, reader(t, path)); err != nil {
		t.Fatal(err)
	}
}

func reader(t *testing.T, path string) *zip.ReadCloser {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// The tables of Spark, Iceberg's Java library and pyiceberg have the rows that their writers read,
// at every snapshot, tag and branch.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob(goldenDir + "/*.zip")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d tables, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".zip"), func(t *testing.T) {
			dir := t.TempDir()
			unzip(t, path, dir)
			checkTable(t, dir)
		})
	}
}

// Random tables that tools/tables wrote below SHARDFEED_TABLES, for make test-spark.
func TestHistories(t *testing.T) {
	paths, err := filepath.Glob(os.Getenv("SHARDFEED_TABLES") + "/*/rows.json")
	if os.Getenv("SHARDFEED_TABLES") == "" || err != nil {
		t.Skipf("SHARDFEED_TABLES names no directory of tables: %v", err)
	}
	if len(paths) == 0 {
		t.Errorf("%s has no tables", os.Getenv("SHARDFEED_TABLES"))
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { checkTable(t, filepath.Dir(path)) })
	}
	t.Logf("%d tables", len(paths))
}

// checkTable compares all snapshots of a table with the rows of its writer.
func checkTable(t *testing.T, dir string) {
	content, err := os.ReadFile(dir + "/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var expect map[string]tabletest.Written
	if err := json.Unmarshal(content, &expect); err != nil {
		t.Fatal(err)
	}
	for snapshot, want := range expect {
		checkSnapshot(t, dir, snapshot, want)
	}
}

func checkSnapshot(t *testing.T, dir, snapshot string, want tabletest.Written) {
	t.Helper()
	store := local.New()
	s, err := iceberg.Open(t.Context(), dir, table.Options{Store: store, Scan: scan.New(store), Snapshot: snapshot, Parallel: 4})
	if err != nil {
		t.Errorf("snapshot %q: %v", snapshot, err)
		return
	}
	columns := tabletest.Columns(s, want.Columns)
	if !slices.Equal(columns, want.Columns) {
		t.Errorf("snapshot %q has columns %v, want %v", snapshot, columns, want.Columns)
	}
	tabletest.Compare(t, "snapshot "+snapshot, tabletest.Lines(t, store, s, want.Columns), want.Lines(t))
}
