package rowgroup

import (
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rule"
)

// A Screen reads shards after FootersKnown, so that a cache put around the store by then serves it,
// and leaves none open after an error.
func TestScreenReadsAfterFooters(t *testing.T) {
	file := func(schema string) []byte { return fakeFile{schema: schema, rows: []int{4}}.bytes(t) }
	store, shards := putFiles(t, map[string][]byte{
		"a/p.parquet": file(`required int32 x;`),
		"a/q.parquet": file(`required int64 x; required double score;`),
	})
	screen := func(*column.Schema) func(rule.Stats) rule.Verdict {
		return func(rule.Stats) rule.Verdict { return rule.Some }
	}
	for column, fails := range map[string]bool{"x": false, "score": true} {
		recorder := &recordingStore{Store: store}
		known := 0
		o := Options{Columns: []string{column}, Events: Events{FootersKnown: func() { known = recorder.opens }}}
		all, err := OpenParts(t.Context(), recorder, []Part{{Shards: shards, Screen: screen}}, o)
		if (err != nil) != fails {
			t.Fatal(err)
		}
		if known != 2 || recorder.opens <= known {
			t.Errorf("%s: footers known after %d opens of %d", column, known, recorder.opens)
		}
		for _, m := range all {
			m.Close()
		}
		if recorder.open != 0 {
			t.Errorf("%s: %d shards are open", column, recorder.open)
		}
	}
}

// Schemas that differ in the name of the root alone are not screened.
func TestAlikeSchemasAreNotScreened(t *testing.T) {
	file := func(root string) []byte {
		return fakeFile{schema: `required int32 x;`, rows: []int{4}, meta: func(m *format.FileMetaData) { m.Schema[0].Name = root }}.bytes(t)
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
