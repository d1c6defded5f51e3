package rest_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/iceberg/rest"
	"github.com/shardfeed/shardfeed/table/scan"
	"github.com/shardfeed/shardfeed/table/tabletest"
)

// work is where tools/tables/iceberg.py made the tables: a catalog gives no other place.
const work = "/tmp/shardfeed-tables/iceberg"

func post(t *testing.T, address string, body any) {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(address, "application/json", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, answer.Status)
	}
}

// Tables in Apache's REST catalog, which tools/tables/rest starts, have the rows of their writers.
func TestCatalog(t *testing.T) {
	uri := os.Getenv("SHARDFEED_ICEBERG_REST")
	if uri == "" {
		t.Skip("SHARDFEED_ICEBERG_REST names no catalog")
	}
	post(t, uri+"/v1/namespaces", map[string]any{"namespace": []string{"db", "in"}})
	for _, name := range []string{"v2", "v3", "eq"} {
		dir := filepath.Join(work, name)
		z, err := zip.OpenReader("../../../testdata/tables/iceberg/" + name + ".zip")
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.CopyFS(dir, z); err != nil {
			t.Fatal(err)
		}
		hint, err := os.ReadFile(dir + "/metadata/version-hint.text")
		if err != nil {
			t.Fatal(err)
		}
		file := dir + "/metadata/v" + strings.TrimSpace(string(hint)) + ".metadata.json"
		post(t, uri+"/v1/namespaces/db%1Fin/register", map[string]any{"name": name, "metadata-location": file})
		check(t, uri, dir, name)
	}
}

func check(t *testing.T, uri, dir, name string) {
	t.Helper()
	content, err := os.ReadFile(dir + "/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var expect map[string]tabletest.Written
	if err := json.Unmarshal(content, &expect); err != nil {
		t.Fatal(err)
	}
	store, o := local.New(), rest.Options{Properties: map[string]string{"uri": uri}}
	for snapshot, want := range expect {
		s, err := rest.Open(t.Context(), "iceberg://test/db.in."+name, o, table.Options{Store: store, Scan: scan.New(store), Snapshot: snapshot, Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		tabletest.Compare(t, name+" "+snapshot, tabletest.Lines(t, store, s, want.Columns), want.Lines(t))
	}
	history, err := rest.History(t.Context(), "iceberg://test/db.in."+name, o)
	if err != nil || len(history) == 0 {
		t.Errorf("%s: history %v, %v", name, history, err)
	}
	t.Logf("%s: %d snapshots", name, len(expect))
}
