package rowgroup

import (
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rule"
)

// Schemas that differ in the name of the root alone are not screened.
func TestAlikeSchemasAreNotScreened(t *testing.T) {
	file := func(root string) []byte {
		return filetest.File{Schema: `required int32 x;`, Rows: []int{4}, Meta: func(m *format.FileMetaData) { m.Schema[0].Name = root }}.Bytes(t)
	}
	store, shards := putFiles(t, map[string][]byte{
		"a/p.parquet": file("schema"),
		"a/q.parquet": file("spark_schema"),
	})
	screen := func(*column.Schema) func(rule.Stats) rule.Verdict {
		t.Error("the schemas are screened")
		return func(rule.Stats) rule.Verdict { return rule.Some }
	}
	all, err := OpenParts(t.Context(), store, []Part{{Shards: shards, Screen: screen}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer all[0].Close()
	if len(all[0].bound) != 2 {
		t.Errorf("the files have %d schemas, want 2", len(all[0].bound))
	}
}
