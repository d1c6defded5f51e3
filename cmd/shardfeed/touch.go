package main

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// A toucher reads every byte of batches, as training would, and counts them.
type toucher struct {
	bytes int64
	sum   uint64 // keeps the reads from being left out
}

func (t *toucher) touch(columns []*rowgroup.Array) {
	for _, a := range columns {
		t.add(a.Valid)
		for _, o := range a.Offsets {
			t.sum += uint64(o)
		}
		t.bytes += 4 * int64(len(a.Offsets))
		t.add(a.Data)
		t.touch(a.Children)
	}
}

func (t *toucher) add(b []byte) {
	t.bytes += int64(len(b))
	for len(b) >= 32 {
		t.sum += binary.LittleEndian.Uint64(b) + binary.LittleEndian.Uint64(b[8:]) +
			binary.LittleEndian.Uint64(b[16:]) + binary.LittleEndian.Uint64(b[24:])
		b = b[32:]
	}
	for _, c := range b {
		t.sum += uint64(c)
	}
}
