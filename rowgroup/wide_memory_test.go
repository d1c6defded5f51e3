package rowgroup

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

// A block whose wide column lies in parts holds the values once: what pages are decompressed to is
// the decoder's.
func TestWideColumnsAreHeldOnce(t *testing.T) {
	const rows, perPage, items = 2000, 1000, 2500
	const values = rows * items * 4
	images, lists := &craft{codec: format.Snappy}, &craft{codec: format.Snappy}
	for range rows / perPage {
		var text, rep []byte
		for range perPage {
			text = append(text, plainText(string(bytes.Repeat([]byte{7}, 4*items)))...)
			rep = append(append(rep, repeated(1, 0)...), repeated(items-1, 1)...)
		}
		images.v1(perPage, format.Plain, format.RLE, text)
		n := perPage * items
		lists.v1(n, format.Plain, format.RLE, sized32(rep...), sized32(repeated(n, 2)...), le32(make([]int32, n)...))
	}
	coded, repeats := &craft{codec: format.Snappy}, &craft{codec: format.Snappy}
	var distinct, codes []byte
	for i := range rows {
		distinct = append(distinct, plainText(string(binary.LittleEndian.AppendUint16(bytes.Repeat([]byte{7}, 4*items-2), uint16(i))))...)
		codes = binary.LittleEndian.AppendUint16(codes, uint16(i))
	}
	coded.dict(rows, distinct).v1(rows, format.RLEDictionary, format.RLE, codes16(codes))
	repeats.dict(1, plainText(string(make([]byte, rows*items*2)))).v1(rows-1, format.RLEDictionary, format.RLE, codes8(1, repeated(rows-1, 0)...)).
		v1(1, format.Plain, format.RLE, plainText(string(make([]byte, rows*items*2))))
	text, list := craftLeaf(format.ByteArray, 0, 0, column.Field{Kind: column.Binary, Type: column.TypeBinary}), craftList(craftLeaf(format.Int32, 2, 1, i32Field))
	layout := Layout{Part: make([]uint8, rows), Parts: 2}
	for i := range layout.Part {
		layout.Part[i] = uint8(1 + i%2)
	}
	layout.Order = byPart(layout)
	for _, c := range []struct {
		name  string
		n     *schema.Node
		chunk rawChunk
		left  int64 // of the whole, that need not be divided
	}{
		{"text", text, images.chunk(text.Leaf, rows), values / 10},
		{"lists", list, lists.chunk(list.Children[0].Leaf, rows), values / 10},
		{"dictionary", text, coded.chunk(text.Leaf, rows), values / 10},
		{"a dictionary whose value repeats", text, repeats.chunk(text.Leaf, rows), values + values/10},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := &mem.Pool{}
			d := newDecoder(pool, false)
			blocks, err := d.Decode(&Raw{Rows: Rows{Hi: rows}, columns: []*schema.Node{c.n}, chunks: []rawChunk{c.chunk}}, layout)
			if err != nil {
				t.Fatalf("%v", err)
			}
			shared := blocks[1].Bytes() - block.Memory(blocks[1]).Bytes()
			if got, most := blocks[0].Bytes()+blocks[1].Bytes(), int64(values+values/10+2*1<<chunkShift); got > most {
				t.Errorf("%d bytes of values take %d, want at most %d", values, got, most)
			}
			if shared > c.left {
				t.Errorf("%d bytes are not divided", shared)
			}
			blocks[0].Release()
			blocks[1].Release()
			if held := pool.Stats().InUse; held > 2*keptScratch {
				t.Errorf("a decoder that rests holds %d bytes", held)
			}
			d.Close()
			if s := pool.Stats(); s.InUse != 0 {
				t.Errorf("%d bytes are not given back", s.InUse)
			}
		})
	}
}

// codes16 is one packed run of codes of 16 bits.
func codes16(b []byte) []byte {
	return append(binary.AppendUvarint([]byte{16}, uint64(len(b)/16)<<1|1), b...)
}
