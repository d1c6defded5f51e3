package rowgroup

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"

	"github.com/shardfeed/shardfeed/column"
)

func FuzzPageHeader(f *testing.F) {
	f.Add(new(craft).v1(3, format.Plain, format.RLE, le32(1, 2, 3)).pages)
	f.Add((&craft{crc: true}).v2(3, 3, format.Plain, nil, packed1(0b101), le32(5, 6)).pages)
	f.Add(new(craft).dict(1, le32(1)).pages)
	f.Fuzz(func(t *testing.T, b []byte) {
		var h pageHeader
		if err := parsePageHeader(b, &h); err != nil {
			return
		}
		if h.bytes > len(b) || h.stored < 0 || h.size < 0 || h.values < 0 || h.repBytes+h.defBytes > min(h.size, h.stored) && h.kind == format.DataPageV2 {
			t.Errorf("%+v", h)
		}
	})
}

// Levels that are expanded, looked at as bits and only asked whether all are the greatest must tell
// the same.
func FuzzLevels(f *testing.F) {
	f.Add(packed1(0b101), uint16(8), byte(1), false)
	f.Add(append(repeated(100, 1), packed1(0xff, 0x0f)...), uint16(110), byte(1), false)
	f.Add(hybridBits([]byte("\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"), false), uint16(32), byte(0), false)
	f.Add(packed2(1, 2, 3), uint16(3), byte(3), false)
	f.Add([]byte{0b10110011, 0b10000000}, uint16(9), byte(1), true)
	f.Fuzz(func(t *testing.T, src []byte, n uint16, greatest byte, packed bool) {
		l := levelRun{src: src, n: int(n), max: int(greatest&7) + 1, packed: packed}
		if packed && (l.n*int(l.width())+7)/8 > len(src) {
			return
		}
		all, allErr := l.allMax()
		dst := make([]byte, l.n)
		if err := l.expand(dst); err != nil {
			return
		}
		count := bytes.Count(dst, []byte{byte(l.max)})
		if allErr == nil && all && count != l.n {
			t.Errorf("all are the greatest, but %d of %d", count, l.n)
		}
		m := make(bitmap, bitmapWords(l.n+5))
		if ones := m.appendEqual(5, dst, byte(l.max)); ones != count || m.ones(5, l.n) != count {
			t.Errorf("%d bits of %d", ones, count)
		}
		if l.max != 1 {
			return
		}
		bits := make(bitmap, bitmapWords(l.n+5))
		if ones, err := l.appendBits(bits, 5); err != nil || ones != count {
			t.Errorf("%d bits, %v; want %d", ones, err, count)
		}
		starts := listShape{starts: make([]uint32, 0, l.n+1), limit: l.n}
		if packed {
			return
		}
		var want []uint32
		for i, v := range dst {
			if v == 0 {
				want = append(want, uint32(7+i))
			}
		}
		if err := starts.appendStarts(&l, 7); err != nil || !slices.Equal(starts.starts, want) {
			t.Errorf("starts %v, %v; want %v", starts.starts, err, want)
		}
	})
}

// The decoders of values never go beyond what they are given.
func FuzzValues(f *testing.F) {
	for e := range 10 {
		f.Add(byte(e), byte(4), uint16(3), append(deltaBytesOf(1, 2), "three words"...))
	}
	f.Add(byte(format.DeltaByteArray), byte(format.ByteArray), uint16(2), append(append(deltaBytesOf(0, 1), deltaBytesOf(2, 1)...), "abc"...))
	f.Add(byte(format.RLEDictionary), byte(format.Int32), uint16(16), codes8(1, packed1(0xaa, 0x55)...))
	f.Fuzz(func(t *testing.T, encoding, typ byte, n uint16, body []byte) {
		node := craftLeaf(Physical(typ%8), 0, 0, column.Field{Kind: column.Binary, Type: column.TypeString})
		if node.leaf.typ != format.ByteArray {
			node.leaf.typeLength = 1 + int(encoding>>4)
			node.field.Kind, node.field.Type, node.field.Width = column.Fixed, column.TypeFixedBinary, storedWidth(node.leaf)
		}
		c := new(craft)
		if e := format.Encoding(encoding & 15); e == format.RLEDictionary && node.leaf.typ != format.Boolean {
			dict := bytes.Repeat([]byte{1, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 3)
			if node.leaf.typ == format.ByteArray {
				dict = plainText("a", "b", "c")
			}
			c.dict(3, dict)
		}
		c.v1(int(n), format.Encoding(encoding&15), format.RLE, body)
		chunk := c.chunk(node.leaf, int(n))
		chunk.pages = append(make([]byte, 0, len(chunk.pages)), chunk.pages...) // nothing behind it
		_, _ = decodeCrafted(node, int(n), Layout{}, ReplaceUTF8, chunk)
	})
}

func FuzzCodec(f *testing.F) {
	text := bytes.Repeat([]byte("some text that is text "), 20)
	for _, c := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Brotli, format.Lz4Raw, format.Zstd} {
		file := writeRows(f, [][]struct{ A string }{{{string(text)}}}, parquet.Compression(parquet.LookupCompressionCodec(c)), parquet.PageBufferSize(1<<20))
		if i := bytes.Index(file, []byte("some text")); i > 4 {
			f.Add(byte(c), file[i-4:min(len(file), i+200)], uint16(len(text)))
		}
		f.Add(byte(c), file, uint16(len(text)))
	}
	f.Add(byte(format.Lz4), hadoopBlocks(text), uint16(len(text)))
	var all codecs
	f.Fuzz(func(t *testing.T, codec byte, src []byte, size uint16) {
		dst := make([]byte, int(size)+codecSlack+64)
		for i := range dst {
			dst[i] = 0xaa
		}
		err := all.decompress(format.CompressionCodec(codec%8), dst[:size:int(size)+codecSlack], src)
		if err == nil && codec%8 == byte(format.Uncompressed) && !bytes.Equal(dst[:size], src) {
			t.Error("not a copy")
		}
		for _, c := range dst[int(size)+codecSlack:] {
			if c != 0xaa {
				t.Fatal("written beyond the slack")
			}
		}
	})
}

// Bytes flipped at random in a file's pages are errors or other values, and never cost memory that
// the footer does not allow.
func TestRandomFlips(t *testing.T) {
	rows := randomRows(9, 120)
	r := rand.New(rand.NewPCG(11, 12))
	times := 400
	if testing.Short() {
		times = 50
	}
	for _, o := range [][]parquet.WriterOption{
		{parquet.DataPageVersion(1), parquet.PageBufferSize(400)},
		{parquet.DataPageVersion(2), parquet.PageBufferSize(400), parquet.Compression(&parquet.Snappy)},
		{parquet.DataPageVersion(1), parquet.PageBufferSize(4000), parquet.Compression(&parquet.Zstd)},
	} {
		file := writeRows(t, [][]everyRow{rows}, o...)
		m := openBytes(t, Options{}, map[string][]byte{"a.parquet": file})
		raw := fetch(t, m, Rows{Hi: int64(len(rows))})
		pool := &mem.Pool{}
		d, passed := m.NewDecoder(pool), 0
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
				l = Layout{Part: bytes.Repeat([]byte{1}, len(rows)), Parts: 1, wide: 1}
			}
			d.skipChecksums = r.IntN(8) > 0
			b, err := d.Decode(&broken, l)
			if err == nil {
				passed++
				for _, v := range b.cols {
					for i := range len(rows) {
						dump(v, v.skip+i)
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

func hadoopBlocks(text []byte) []byte {
	var b []byte
	for _, part := range [][]byte{text[:100], text[100:]} {
		block := lz4Literals(part)
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = binary.BigEndian.AppendUint32(b, uint32(len(block)))
		b = append(b, block...)
	}
	return b
}

// lz4Literals is a raw LZ4 block that compresses nothing.
func lz4Literals(s []byte) []byte {
	b := []byte{0xf0}
	n := len(s) - 15
	for ; n >= 255; n -= 255 {
		b = append(b, 255)
	}
	return append(append(b, byte(n)), s...)
}
