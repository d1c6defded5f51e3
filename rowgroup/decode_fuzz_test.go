package rowgroup

import (
	"bytes"
	"math/rand/v2"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// The decoders of values never go beyond what they are given.
func FuzzValues(f *testing.F) {
	for e := range 10 {
		f.Add(byte(e), byte(4), uint16(3), append(deltaBytesOf(1, 2), "three words"...))
	}
	f.Add(byte(format.DeltaByteArray), byte(format.ByteArray), uint16(2), append(append(deltaBytesOf(0, 1), deltaBytesOf(2, 1)...), "abc"...))
	f.Add(byte(format.RLEDictionary), byte(format.Int32), uint16(16), codes8(1, packed1(0xaa, 0x55)...))
	f.Fuzz(func(t *testing.T, encoding, typ byte, n uint16, body []byte) {
		node := craftLeaf(schema.Physical(typ%8), 0, 0, column.Field{Kind: column.Binary, Type: column.TypeString})
		if node.Leaf.Type != format.ByteArray {
			node.Leaf.TypeLength = 1 + int(encoding>>4)
			node.Field.Kind, node.Field.Type, node.Field.Width = column.Fixed, column.TypeFixedBinary, node.Leaf.StoredWidth()
		}
		c := new(craft)
		if e := format.Encoding(encoding & 15); e == format.RLEDictionary && node.Leaf.Type != format.Boolean {
			dict := bytes.Repeat([]byte{1, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 3)
			if node.Leaf.Type == format.ByteArray {
				dict = plainText("a", "b", "c")
			}
			c.dict(3, dict)
		}
		c.v1(int(n), format.Encoding(encoding&15), format.RLE, body)
		chunk := c.chunk(node.Leaf, int(n))
		chunk.pages = append(make([]byte, 0, len(chunk.pages)), chunk.pages...) // nothing behind it
		_, _ = decodeCrafted(node, int(n), Layout{}, replaceUTF8, chunk)
	})
}

// Bytes flipped at random in a file's pages are errors or other values, and never cost memory that
// the footer does not allow.
func TestRandomFlips(t *testing.T) {
	rows := randomRows(9, 120)
	r := rand.New(rand.NewPCG(11, 12))
	times := 400
	if racetest.Enabled {
		times = 100 // and all without the detector
	}
	if testing.Short() {
		times = 50
	}
	for _, o := range [][]parquetgo.WriterOption{
		{parquetgo.DataPageVersion(1), parquetgo.PageBufferSize(400)},
		{parquetgo.DataPageVersion(2), parquetgo.PageBufferSize(400), parquetgo.Compression(&parquetgo.Snappy)},
		{parquetgo.DataPageVersion(1), parquetgo.PageBufferSize(4000), parquetgo.Compression(&parquetgo.Zstd)},
	} {
		file := writeRows(t, [][]everyRow{rows}, o...)
		m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
		raw := fetch(t, m, Rows{Hi: int64(len(rows))})
		pool := &mem.Pool{}
		d, passed := newDecoder(pool, false), 0
		for range times {
			broken := *raw
			broken.chunks = append([]rawChunk(nil), raw.chunks...)
			c := &broken.chunks[r.IntN(len(broken.chunks))]
			c.pages = bytes.Clone(c.pages)
			for range 1 + r.IntN(3) {
				c.pages[r.IntN(len(c.pages))] ^= byte(1 + r.IntN(255))
			}
			l := Layout{}
			if r.IntN(2) == 0 {
				l = Layout{Part: bytes.Repeat([]byte{1}, len(rows)), Parts: 2, wide: 1}
			}
			d.skipChecksums = r.IntN(8) > 0
			b, err := d.whole(&broken, l)
			if err == nil {
				passed++
				for _, v := range block.Columns(b) {
					for i := range len(rows) {
						dump(v, v.Place(i))
					}
				}
				b.Release()
			}
		}
		t.Logf("%d of %d passed", passed, times)
		if peak := pool.Stats().Peak; peak > 64<<20 {
			t.Errorf("a peak of %d bytes for a file of %d", peak, len(file))
		}
		d.Close()
	}
}
