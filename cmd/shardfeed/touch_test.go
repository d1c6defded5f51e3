package main

import (
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/gpu"
)

// Every byte of every buffer of the tree takes part in the sum, and all are counted.
func TestToucher(t *testing.T) {
	data := make([]byte, 37)
	inner := make([]byte, 5)
	valid := []byte{0xff}
	offsets := []int32{0, 2}
	columns := []*column.Array{
		{Data: data, Valid: valid},
		{Offsets: offsets, Children: []*column.Array{{Data: inner}}},
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

const deviceAddress = 0x7000

// On the host's device every byte takes part, offsets as numbers; on another one the bytes are
// counted and nothing is read.
func TestToucherDevice(t *testing.T) {
	memory := []byte{1, 2, 3, 0xff, 2, 1, 0, 0, 9}
	onHost := func(s gpu.Span) []byte {
		if s.Bytes == 0 {
			return nil
		}
		from := int(s.Pointer - deviceAddress)
		return memory[from : from+s.Bytes]
	}
	elsewhere := func(gpu.Span) []byte { return nil }
	columns := []*gpu.Column{
		{Valid: gpu.Span{Pointer: deviceAddress + 3, Bytes: 1}, Data: gpu.Span{Pointer: deviceAddress, Bytes: 3}},
		{Offsets: gpu.Span{Pointer: deviceAddress + 4, Bytes: 4}, Children: []*gpu.Column{{Data: gpu.Span{Pointer: deviceAddress + 8, Bytes: 1}}}},
	}
	var touched, counted toucher
	touched.touchDevice(onHost, columns)
	if want := uint64(1 + 2 + 3 + 255 + 258 + 9); touched.sum != want || touched.bytes != 9 {
		t.Errorf("sum %d of %d bytes, want %d of 9", touched.sum, touched.bytes, want)
	}
	counted.touchDevice(elsewhere, columns)
	if counted.sum != 0 || counted.bytes != 9 {
		t.Errorf("sum %d of %d bytes, want 0 of 9", counted.sum, counted.bytes)
	}
}
