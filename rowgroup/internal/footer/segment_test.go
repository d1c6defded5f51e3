package footer

import (
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// FuzzSegment reads any bytes as a segment of the index, and the records in it.
func FuzzSegment(f *testing.F) {
	b := filetest.File{Schema: filetest.Nested, Rows: []int{10, 7}}.Bytes(f)
	store := &mem.Store{}
	store.Put("f.parquet", b)
	shards, err := store.List(f.Context(), "mem://")
	if err != nil {
		f.Fatal(err)
	}
	all, err := Load(f.Context(), store, shards, nil, Options{Parallel: 1})
	if err != nil {
		f.Fatal(err)
	}
	one := indexEntry{key: Key{identity: [16]byte{1}}, record: all[0].Record, schema: all[0].Schema.Bytes}
	two := one
	two.key.identity[0]++
	f.Add(formatSegment([]indexEntry{one, two}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		s, err := parseSegment(b)
		if err != nil {
			return
		}
		for i := range s.len() {
			if e, ok := s.entry(i); ok {
				s.find(e.key)
				_, _ = ParseRecord(e.record)
				_, _ = schema.NewFile(e.schema)
			}
		}
	})
}
