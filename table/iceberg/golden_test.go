package iceberg_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/iceberg"
	"github.com/shardfeed/shardfeed/table/scan"
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

// wanted are the rows that the writer of a table reads at one snapshot.
type wanted struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// The tables of Spark, Iceberg's Java library and pyiceberg have the columns and the ids that their
// writers read, at every snapshot, tag and branch.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob(goldenDir + "/*.zip")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d tables, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".zip"), func(t *testing.T) {
			dir := t.TempDir()
			unzip(t, path, dir)
			content, err := os.ReadFile(dir + "/rows.json")
			if err != nil {
				t.Fatal(err)
			}
			var expect map[string]wanted
			if err := json.Unmarshal(content, &expect); err != nil {
				t.Fatal(err)
			}
			for snapshot, want := range expect {
				checkSnapshot(t, dir, snapshot, want)
			}
		})
	}
}

func checkSnapshot(t *testing.T, dir, snapshot string, want wanted) {
	t.Helper()
	store := local.New()
	s, err := iceberg.Open(t.Context(), dir, table.Options{Store: store, Scan: scan.New(store), Snapshot: snapshot, Parallel: 4})
	if err != nil {
		t.Errorf("snapshot %q: %v", snapshot, err)
		return
	}
	var columns []string
	for _, f := range s.Fields {
		columns = append(columns, f.Column.Name)
	}
	if !slices.Equal(columns, want.Columns) {
		t.Errorf("snapshot %q has columns %v, want %v", snapshot, columns, want.Columns)
	}
	var ids []int64
	for _, row := range want.Rows {
		ids = append(ids, int64(row[0].(float64)))
	}
	got := living(t, store, s)
	slices.Sort(ids)
	if slices.Sort(got); !slices.Equal(got, ids) {
		t.Errorf("snapshot %q has %d rows, want %d:\n%v\n%v", snapshot, len(got), len(ids), got, ids)
	}
}

// living are the ids of the rows of a snapshot.
func living(t *testing.T, store shard.Store, s *table.Snapshot) (ids []int64) {
	t.Helper()
	for _, f := range s.Files {
		err := scan.New(store)(context.Background(), f.Shard, s.Fields[:1], func(first int64, columns []*column.Array) error {
			if columns[0] == nil {
				return fmt.Errorf("no ids")
			}
			for i := range columns[0].Len {
				if f.Deleted.Has(first + int64(i)) {
					continue
				}
				if columns[0].Field.Width == 8 {
					v, err := column.Values[int64](columns[0])
					ids = append(ids, v[i])
					if err != nil {
						return err
					}
				} else {
					v, err := column.Values[int32](columns[0])
					ids = append(ids, int64(v[i]))
					if err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", f.Shard.URI, err)
		}
	}
	return ids
}
