package parquet

import (
	"encoding/binary"
	"slices"
	"testing"
)

// TestDeltaOf33Bits reads 32-bit integers whose differences were taken in 64 bits: the first value,
// the least difference and a miniblock all need more than 32.
func TestDeltaOf33Bits(t *testing.T) {
	want := make([]uint32, 65) // the first, and a block of two miniblocks of 32
	for i := range want {
		want[i] = uint32(i) * 0x9e3779b9
	}
	least := int64(0)
	for i := range want[1:] {
		least = min(least, int64(want[i+1])-int64(want[i]))
	}
	const width = 33
	src := binary.AppendUvarint(nil, 64)
	src = binary.AppendUvarint(src, 2)
	src = binary.AppendUvarint(src, uint64(len(want)))
	src = binary.AppendVarint(src, int64(want[0]))
	src = binary.AppendVarint(src, least)
	src = append(src, width, width)
	packed := make([]byte, 64*width/8)
	for i := range want[1:] {
		v := uint64(int64(want[i+1]) - int64(want[i]) - least)
		for b := range width {
			packed[(i*width+b)/8] |= byte(v>>b&1) << ((i*width + b) % 8)
		}
	}
	got := make([]uint32, len(want))
	if _, err := DecodeDelta(got, append(src, packed...)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if _, err := DecodeDelta(got, append(src, packed[:len(packed)-1]...)); err == nil {
		t.Error("a miniblock that ends early was read")
	}
}
