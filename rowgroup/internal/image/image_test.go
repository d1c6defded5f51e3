package image

import (
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// Whatever a header says, an image is refused or makes vectors that lie in its bytes.
func FuzzImage(f *testing.F) {
	long := &column.Field{Name: "long", Kind: column.Fixed, Type: column.TypeInt64, Width: 8}
	text := &column.Field{Name: "text", Kind: column.Binary, Type: column.TypeString, Nullable: true}
	list := &column.Field{Name: "list", Kind: column.List, Children: []*column.Field{long}}
	fields := []*column.Field{long, text, list, long}
	const rows = 40
	data, views := make([]byte, 8*rows), make([]uint64, rows)
	for i := range views {
		data[8*i], views[i] = byte(i), uint64(i)<<32|1
	}
	words := &block.Vector{Field: long, Len: rows, Data: data}
	p := Painter{rows: rows, room: 1 << 20}
	for i, v := range []*block.Vector{
		words,
		{Field: text, Len: rows, Nulls: 1, Valid: []uint64{1<<rows - 2, 0}, Views: views, Base: [][]byte{data}},
		{Field: list, Len: 2, Offsets: []uint32{0, 3, rows}, Children: []*block.Vector{words}},
		{Field: long, Len: rows, Codes: make([]byte, rows), CodeWidth: 1, Dict: &block.Vector{Field: long, Len: 1, Data: data[:8]}},
	} {
		if err := p.Add(i, v); err != nil {
			f.Fatal(err)
		}
	}
	if err := p.lay(); err != nil {
		f.Fatal(err)
	}
	f.Add(p.format())
	body := make([]byte, 1<<20)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerBytes { // let the fuzzer past the sum
			count := int64(b[36]) | int64(b[37])<<8 | int64(b[38])<<16 | int64(b[39])<<24
			if end := headerBytes + count*nodeBytes; end <= int64(len(b)) {
				b = append([]byte(nil), b...)
				clear(b[44:48])
				sum := crc.Append(0, b[:end])
				b[44], b[45], b[46], b[47] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
			}
		}
		var i Image
		if i.parse(b, 1<<20+8*Alignment) != nil || i.Bytes > int64(len(body)) {
			return
		}
		for _, rows := range [][2]int64{{0, i.Rows}, {i.Rows / 3, i.Rows / 2}} {
			all, err := i.Vectors(body, fields, rows[0], rows[1])
			if err != nil {
				continue
			}
			for _, v := range all {
				if v == nil || v.Len == 0 || v.Slots == nil {
					continue
				}
				last := (v.Len - 1) * v.Step
				_ = v.Slots[last+int(block.SlotWidth(v.Field, v.CodeWidth))-1]
				if v.Marks != nil {
					_ = v.Marks[last]
				}
			}
		}
	})
}
