package rowgroup

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// FuzzFooter opens shards whose footer is any bytes, behind pages and a page index that are real:
// the result is a value or an error, in memory that the bytes bound.
func FuzzFooter(f *testing.F) {
	paged := pagedFile(f, 100, 200)
	data := paged[:len(paged)-parquet.TailBytes-footerSize(paged)]
	for _, b := range [][]byte{
		paged,
		patchFooter(f, paged, noSizes),
		fakeFile{schema: nestedSchema, rows: []int{10, 0, 7}}.bytes(f),
		fakeFile{schema: `repeated group a (LIST) { repeated group a_tuple (MAP) { optional fixed(3) x (DECIMAL(5,2)); } }`, rows: []int{1}}.bytes(f),
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

// FuzzArrowSchema walks any bytes as an ARROW:schema.
func FuzzArrowSchema(f *testing.F) {
	b, err := base64.StdEncoding.DecodeString(string(arrowSchema(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 4, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		sizes := arrowListSizes([]byte(base64.StdEncoding.EncodeToString(b)))
		if len(sizes) > 0 && parseListSizes(sizes) == nil {
			t.Errorf("the sizes do not parse: %x", sizes)
		}
	})
}

// FuzzSegment reads any bytes as a segment of the index, and the records in it.
func FuzzSegment(f *testing.F) {
	s := fileSchemaOf(f, nestedSchema)
	b := fakeFile{schema: nestedSchema, rows: []int{10, 7}}.bytes(f)
	footer, err := parquet.ParseFooter(b[4+2*100*s.leaves:len(b)-parquet.TailBytes], int64(4+2*100*s.leaves))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(formatSegment([]indexEntry{
		{key: shardKey{identity: [16]byte{1}}, record: formatRecord(footer, s.leaves), schema: s.rawSchema},
		{key: shardKey{identity: [16]byte{2}}, record: formatRecord(footer, s.leaves), schema: s.rawSchema},
	}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		s, err := parseSegment(b)
		if err != nil {
			return
		}
		for i := range s.len() {
			if e, ok := s.entry(i); ok {
				s.find(e.key)
				fuzzRecord(e.record)
				_, _ = newFileSchema(e.schema)
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
			planChunk(&r, &leaf{index: l}, Rows{RowGroup: g, Lo: 3, Hi: 5}, r.rows.at(g))
			r.slicedChunk(r.chunk(l, g), []int64{3})
		}
	}
}
