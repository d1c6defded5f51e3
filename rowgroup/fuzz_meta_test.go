package rowgroup

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// FuzzFooter opens shards whose footer is any bytes, behind pages and a page index that are real:
// the result is a value or an error, in memory that the bytes bound.
func FuzzFooter(f *testing.F) {
	paged := pagedFile(f, 100, 200)
	data := paged[:len(paged)-parquet.TailBytes-footerSize(paged)]
	for _, b := range [][]byte{
		paged,
		patchFooter(f, paged, noSizes),
		filetest.File{Schema: filetest.Nested, Rows: []int{10, 0, 7}}.Bytes(f),
		filetest.File{Schema: `repeated group a (LIST) { repeated group a_tuple (MAP) { optional fixed(3) x (DECIMAL(5,2)); } }`, Rows: []int{1}}.Bytes(f),
	} {
		f.Add(b[len(b)-parquet.TailBytes-footerSize(b) : len(b)-parquet.TailBytes])
	}
	f.Fuzz(func(t *testing.T, footer []byte) {
		b := append(bytes.Clone(data), footer...)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
		store, shards := putFiles(t, map[string][]byte{"f.parquet": b})
		before := allocated()
		m, err := Open(context.Background(), store, shards, Options{})
		if grown := allocated() - before; grown > uint64(len(b))*4000+10<<20 {
			t.Errorf("%d bytes were allocated for %d", grown, len(b))
		}
		if err != nil {
			return
		}
		defer m.Close()
		for g, group := range m.Groups() {
			m.DecodedBytes(g)
			m.Scratch(g)
			m.SlicedBytes(g, m.PageEdges(g))
			for _, lo := range []int64{0, group.Rows / 2} {
				if r, err := m.Fetch(context.Background(), Rows{RowGroup: int(group.RowGroup), Lo: lo, Hi: group.Rows}); err == nil {
					r.Release()
				}
			}
		}
		footers, err := Footers(context.Background(), store, shards, Options{})
		if err != nil {
			t.Fatal(err) // Open read it
		}
		for _, l := range footers[0].Leaves {
			for g := range footers[0].Groups() {
				footers[0].Chunk(l, g)
			}
		}
	})
}

// footerSize is what the last bytes of a file say.
func footerSize(b []byte) int { return int(binary.LittleEndian.Uint32(b[len(b)-parquet.TailBytes:])) }

func allocated() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.TotalAlloc
}

// FuzzSegment reads any bytes as a segment of the index, and the records in it.
func FuzzSegment(f *testing.F) {
	b := filetest.File{Schema: filetest.Nested, Rows: []int{10, 7}}.Bytes(f)
	store, shards := putFiles(f, map[string][]byte{"f.parquet": b})
	all, err := loadFooters(context.Background(), store, shards, nil, Options{}.withDefaults(nil, nil))
	if err != nil {
		f.Fatal(err)
	}
	one := indexEntry{key: shardKey{identity: [16]byte{1}}, record: all[0].record, schema: all[0].schema.Bytes}
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
				fuzzRecord(e.record)
				_, _ = schema.NewFile(e.schema)
			}
		}
	})
}

// FuzzRecord reads any bytes as a record: no checksum stands before it here.
func FuzzRecord(f *testing.F) {
	b := pagedFile(f, 300)
	store, shards := putFiles(f, map[string][]byte{"f.parquet": b})
	all, err := loadFooters(context.Background(), store, shards, nil, Options{}.withDefaults(nil, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all[0].record)
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzRecord(b) })
}

func fuzzRecord(b []byte) {
	r, err := parseRecord(b)
	if err != nil {
		return
	}
	for g := range r.groups {
		for l := range r.leaves {
			planChunk(&r, &schema.Leaf{Index: l}, Rows{RowGroup: g, Lo: 3, Hi: 5}, r.rows.at(g))
			r.slicedChunk(r.chunk(l, g), []int64{3})
		}
	}
}
