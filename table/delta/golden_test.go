package delta_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/delta"
	"github.com/shardfeed/shardfeed/table/scan"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func options(store shard.Store, snapshot string) table.Options {
	return table.Options{Store: store, Scan: scan.New(store), Snapshot: snapshot, Parallel: 4}
}

// tables is a directory of tables, each with a file of its rows.
var tables = flag.String("tables", "../../testdata/tables/delta", "directory of tables to compare with their rows")

// Each table has the rows that its writer reads, at each version.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(*tables + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables in %s: %v", *tables, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var versions map[string]tabletest.Written
			if err := json.Unmarshal(b, &versions); err != nil {
				t.Fatal(err)
			}
			checkVersions(t, filepath.Join(*tables, name), versions)
		})
	}
}

func checkVersions(t *testing.T, dir string, versions map[string]tabletest.Written) {
	store := local.New()
	latest := 0
	for name, want := range versions {
		s, err := delta.Open(t.Context(), dir, options(store, name))
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name {
			t.Errorf("version %s is called %s", name, s.Name)
		}
		columns := tabletest.Columns(s, want.Columns)
		if !slices.Equal(columns, want.Columns) {
			t.Errorf("version %s has columns %q, want %q", name, columns, want.Columns)
		}
		tabletest.Compare(t, "version "+name, tabletest.Lines(t, store, s, want.Columns), want.Lines(t))
		n, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		latest = max(latest, n)
	}
	s, err := delta.Open(t.Context(), dir+"/", options(store, ""))
	if err != nil || s.Name != strconv.Itoa(latest) {
		t.Errorf("the latest version is %v, %v, want %d", s, err, latest)
	}
	history, err := delta.History(t.Context(), dir, options(store, ""))
	if err != nil || len(history) != len(versions) {
		t.Fatalf("%d versions, %v, want %d", len(history), err, len(versions))
	}
	checkTimes(t, dir, history)
}

// checkTimes opens a table at the time of each version, and just before the first.
func checkTimes(t *testing.T, dir string, history []table.Version) {
	store := local.New()
	for i, v := range history {
		if v.Time.IsZero() || v.Operation == "" {
			t.Errorf("version %s: %+v", v.Name, v)
		}
		if i+1 < len(history) && !history[i+1].Time.After(v.Time) {
			continue
		}
		s, err := delta.Open(t.Context(), dir, options(store, v.Time.Format("2006-01-02T15:04:05.000Z07:00")))
		if err != nil || s.Name != v.Name || !s.Time.Equal(v.Time) {
			t.Errorf("at the time of version %s: %+v, %v", v.Name, s, err)
		}
	}
	_, err := delta.Open(t.Context(), dir, options(store, history[0].Time.Add(-1e9).Format("2006-01-02T15:04:05Z07:00")))
	if !errors.Is(err, shard.ErrNotExist) {
		t.Errorf("before the first version: %v", err)
	}
}
