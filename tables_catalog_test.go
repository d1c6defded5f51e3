package shardfeed

import (
	"archive/zip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A table of a catalog has its rows, by the storage options of the spec.
func TestTableOfCatalog(t *testing.T) {
	dir := t.TempDir()
	z, err := zip.OpenReader("testdata/tables/iceberg/v3.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/metadata/*.metadata.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	metadata, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/config":
			_, _ = w.Write([]byte("{}"))
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"metadata-location": files[0], "metadata": json.RawMessage(metadata)})
		}
	}))
	defer server.Close()
	spec := Spec{Addresses: []string{"iceberg://prod/db.t"}, Storage: map[string]string{"iceberg.uri": server.URL, "iceberg.token": "secret"}}
	stores, err := spec.Stores(Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	_, table, err := spec.Find(t.Context(), stores, spec.Addresses, Events{})
	if err != nil {
		t.Fatal(err)
	}
	live := int64(0)
	for i := range table.Files {
		live += table.Files[i].Rows - table.Files[i].Deleted.Len()
	}
	if live != 86 {
		t.Errorf("%d rows, want 86", live)
	}
	history, err := spec.Snapshots(t.Context(), stores, spec.Addresses[0])
	if err != nil || len(history) != 8 {
		t.Errorf("%d snapshots, %v", len(history), err)
	}
	spec.Storage["iceberg.token"] = "wrong"
	if _, _, err := spec.Find(t.Context(), stores, spec.Addresses, Events{}); err == nil || !strings.Contains(err.Error(), "access denied: catalog prod answered 401") {
		t.Errorf("another token: %v", err)
	}
	spec.Storage["iceberg.url"] = "x"
	if _, err := spec.Stores(Events{}); err == nil || !strings.Contains(err.Error(), "iceberg.url") {
		t.Errorf("an unknown option: %v", err)
	}
}
