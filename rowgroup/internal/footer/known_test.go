package footer

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/shard/mem"
)

func TestKnownOfAnotherSchema(t *testing.T) {
	store := &mem.Store{}
	store.Put("a", filetest.File{Schema: `optional int64 one;`, Rows: []int{3}}.Bytes(t))
	store.Put("b", filetest.File{Schema: `optional int64 one; optional int64 two;`, Rows: []int{3}}.Bytes(t))
	shards, err := store.List(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(t.Context(), store, shards, nil, Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	known := []Known{{record: all[0].Record, schema: &all[0].Schema.Bytes}}
	if _, err := Load(t.Context(), store, shards[:1], known, Options{}); err != nil {
		t.Error(err)
	}
	known[0].schema = &all[1].Schema.Bytes
	if _, err := Load(t.Context(), store, shards[:1], known, Options{}); err == nil || !strings.HasPrefix(err.Error(), shards[0].URI+": the footer that is kept of it") {
		t.Errorf("of another schema: %v", err)
	}
}
