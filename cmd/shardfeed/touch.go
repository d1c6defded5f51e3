package main

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/gpu"
)

// A toucher reads every byte of batches, as training would, and counts them.
type toucher struct {
	bytes int64
	sum   uint64 // keeps the reads from being left out
}

func (t *toucher) touch(columns []*column.Array) {
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

// touchDevice reads every byte of columns, in the same order, if host returns it, and otherwise
// counts the bytes.
func (t *toucher) touchDevice(host func(gpu.Span) []byte, columns []*gpu.Column) {
	for _, c := range columns {
		t.add(t.onHost(host, c.Valid))
		for offsets := t.onHost(host, c.Offsets); len(offsets) > 0; offsets = offsets[4:] {
			t.sum += uint64(binary.LittleEndian.Uint32(offsets))
			t.bytes += 4
		}
		t.add(t.onHost(host, c.Data))
		t.touchDevice(host, c.Children)
	}
}

// onHost returns the bytes of s if the host can read them; otherwise it counts them.
func (t *toucher) onHost(host func(gpu.Span) []byte, s gpu.Span) []byte {
	readable := host(s)
	if readable == nil {
		t.bytes += int64(s.Bytes)
	}
	return readable
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
