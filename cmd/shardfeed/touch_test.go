package main

import (
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// Every byte of every buffer of the tree takes part in the sum, and all are counted.
func TestToucher(t *testing.T) {
	data := make([]byte, 37)
	inner := make([]byte, 5)
	valid := []byte{0xff}
	offsets := []int32{0, 2}
	columns := []*rowgroup.Array{
		{Data: data, Valid: valid},
		{Offsets: offsets, Children: []*rowgroup.Array{{Data: inner}}},
	}
	sum := func() (uint64, int64) {
		var touched toucher
		touched.touch(columns)
		return touched.sum, touched.bytes
	}
	before, n := sum()
	if n != 37+5+1+8 {
		t.Errorf("%d bytes", n)
	}
	for _, b := range [][]byte{data, inner, valid} {
		for i := range b {
			b[i]++
			if after, _ := sum(); after == before {
				t.Errorf("byte %d of %d was not touched", i, len(b))
			}
			b[i]--
		}
	}
	offsets[1]++
	if after, _ := sum(); after == before {
		t.Error("an offset was not touched")
	}
}
