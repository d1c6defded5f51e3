package main

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/gpu"
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

// touchDevice reads every byte of columns in a device's memory where that is the host's, in the same order, and counts them elsewhere.
func (t *toucher) touchDevice(m gpu.DeviceMemory, columns []*gpu.Column) {
	for _, c := range columns {
		t.add(t.onHost(m, c.Valid))
		for offsets := t.onHost(m, c.Offsets); len(offsets) > 0; offsets = offsets[4:] {
			t.sum += uint64(binary.LittleEndian.Uint32(offsets))
			t.bytes += 4
		}
		t.add(t.onHost(m, c.Data))
		t.touchDevice(m, c.Children)
	}
}

// onHost is what lies there, if the host can read it; else its bytes are counted.
func (t *toucher) onHost(m gpu.DeviceMemory, s gpu.Span) []byte {
	readable, ok := m.(interface{ Bytes() []byte })
	if !ok {
		t.bytes += int64(s.Bytes)
		return nil
	}
	if s.Bytes == 0 {
		return nil
	}
	from := int(s.Pointer - m.Pointer())
	return readable.Bytes()[from : from+s.Bytes]
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
