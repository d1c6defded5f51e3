package rowgroup

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/filetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
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

// FuzzRecord reads any bytes as a record: no checksum stands before it here.
func FuzzRecord(f *testing.F) {
	b := pagedFile(f, 300)
	store, shards := putFiles(f, map[string][]byte{"f.parquet": b})
	all, err := footer.Load(context.Background(), store, shards, nil, Options{}.withDefaults(nil, nil).footers())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all[0].Record)
	f.Fuzz(func(_ *testing.T, b []byte) { fuzzRecord(b) })
}

func fuzzRecord(b []byte) {
	r, err := footer.ParseRecord(b)
	if err != nil {
		return
	}
	for g := range r.Groups {
		for l := range r.Leaves {
			planChunk(&r, &schema.Leaf{Index: l}, Rows{RowGroup: g, Lo: 3, Hi: 5}, r.Rows.At(g))
			r.SlicedChunk(r.Chunk(l, g), []int64{3})
		}
	}
}
