package driver

import (
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// skipSize is how many bytes of a hole are read at once.
const skipSize = 64 << 10

// skips are where the bytes of holes go, over and over.
var skips = sync.Pool{New: func() any { return new([skipSize]byte) }}

// A Fill copies the bytes of a part, as they arrive, into the ranges that need them, and skips the
// others. It tracks its position, so that a broken request is followed by one for the rest. Close
// releases its memory.
type Fill struct {
	off, end int64         // of the next byte, and of the part
	ranges   []shard.Range // that still want bytes; the first may have some already
	skip     *[skipSize]byte
}

// NewFill starts at the first byte of a part.
func NewFill(p Part) *Fill { return &Fill{off: p.Off(), end: p.End(), ranges: p} }

// Off is the next byte.
func (f *Fill) Off() int64 { return f.off }

// Left returns the number of bytes of the part still to come, including holes.
func (f *Fill) Left() int64 { return f.end - f.off }

// Next is where the next bytes go, never past a range's end; nil when all have come.
func (f *Fill) Next() []byte {
	if f.off == f.end {
		return nil
	}
	r := f.ranges[0]
	hole := r.Off - f.off
	if hole <= 0 {
		return r.P[f.off-r.Off:]
	}
	if f.skip == nil {
		f.skip = skips.Get().(*[skipSize]byte)
	}
	return f.skip[:min(hole, skipSize)]
}

// Took reports that n bytes were written to the buffer of Next.
func (f *Fill) Took(n int) {
	f.off += int64(n)
	if f.off == f.ranges[0].Span().End() {
		f.ranges = f.ranges[1:]
	}
}

// Close releases the memory of holes.
func (f *Fill) Close() {
	if f.skip != nil {
		skips.Put(f.skip)
		f.skip = nil
	}
}
