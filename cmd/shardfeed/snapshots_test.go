package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/table/tabletest"
)

// icebergTable unpacks a table of testdata/tables.
func icebergTable(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	packed, err := zip.OpenReader("../../testdata/tables/iceberg/" + name + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if err := os.CopyFS(dir, packed); err != nil {
		t.Fatal(err)
	}
	return dir
}

// snapshots lists what a table has, each by the name that --snapshot takes.
func TestSnapshots(t *testing.T) {
	iceberg := icebergTable(t, "v2")
	for _, c := range []struct {
		address, rows string // the rows of each snapshot, by its writer
		operation     string
		refs          []string
	}{
		{"delta+../../testdata/tables/delta/vectors", "../../testdata/tables/delta/vectors.json", "DELETE", nil},
		{"iceberg+" + iceberg, filepath.Join(iceberg, "rows.json"), "overwrite", []string{"audit", "before", "main"}},
	} {
		text, err := os.ReadFile(c.rows)
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]tabletest.Written
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		delete(written, "")
		code, stdout, stderr := command(t, "snapshots", c.address, "--json")
		var got snapshotsOutput
		if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
			t.Fatalf("%s: exit %d, %v, %s", c.address, code, err, stderr)
		}
		_, table, _ := command(t, "snapshots", c.address)
		var refs []string
		operations, last := map[string]bool{}, ""
		for _, s := range got.Snapshots {
			refs = append(refs, s.Refs...)
			operations[s.Operation] = true
			if s.Time <= last || !strings.Contains(table, s.Name) || !strings.Contains(table, s.Time) {
				t.Errorf("%s: %+v after %s, in\n%s", c.address, s, last, table)
			}
			last = s.Time
			for _, name := range append(s.Refs, s.Name) {
				want, ok := written[name]
				if !ok {
					continue
				}
				delete(written, name)
				code, stdout, stderr := command(t, "count", c.address, "--snapshot", name)
				if code != 0 || stdout != fmt.Sprintln(len(want.Rows)) {
					t.Errorf("%s at %s: exit %d, %q, %s", c.address, name, code, stdout, stderr)
				}
			}
		}
		if slices.Sort(refs); len(written) > 0 || !operations[c.operation] || !slices.Equal(refs, c.refs) {
			t.Errorf("%s: %d snapshots are not listed; operations %v, refs %q", c.address, len(written), operations, refs)
		}
	}
	if code, _, stderr := command(t, "snapshots", "../../testdata/shop"); code == 0 || !strings.Contains(stderr, "delta+ or iceberg+") {
		t.Errorf("files: exit %d, %s", code, stderr)
	}
}
