package image

import (
	"context"
	"time"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// WindowBytes is the size of a window: the bytes of an image that are handed to the tier at a time.
const WindowBytes = 16 * Alignment

// A Window collects bytes, hands them to a tier in whole blocks and sums them.
type Window struct {
	pool *mem.Pool
	b    []byte

	file   File
	at     int64
	sum    uint32
	waited time.Duration // for the tier
}

// NewWindow returns a window with memory of the pool.
func NewWindow(p *mem.Pool) *Window {
	return &Window{pool: p, b: p.Get(WindowBytes)[:0]}
}

// Close returns the memory to the pool.
func (w *Window) Close() {
	w.pool.Put(w.b)
	w.b = nil
}

// begin moves the window to a place of a file, a multiple of tierBlock.
func (w *Window) begin(f File, at int64) {
	w.b, w.file, w.at, w.sum, w.waited = w.b[:0], f, at, 0, 0
}

// put appends a buffer, and zeros up to a multiple of 64 bytes.
func (w *Window) put(ctx context.Context, b []byte) error {
	if err := w.append(ctx, b); err != nil {
		return err
	}
	return w.align(ctx)
}

func (w *Window) append(ctx context.Context, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), WindowBytes-len(w.b))
		w.b, b = append(w.b, b[:n]...), b[n:]
		if len(w.b) == WindowBytes {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

var padding [64]byte

func (w *Window) align(ctx context.Context) error {
	return w.append(ctx, padding[:-len(w.b)&63])
}

// flush hands over what is there.
func (w *Window) flush(ctx context.Context) error {
	if len(w.b) == 0 {
		return nil
	}
	w.sum = crc.Append(w.sum, w.b)
	began := time.Now()
	err := w.file.Keep(ctx, w.at, w.b)
	w.waited += time.Since(began)
	w.at += int64(len(w.b))
	w.b = w.b[:0]
	return err
}

// fillWords writes words to records of size bytes.
func fillWords[T uint16 | uint32 | uint64](to []byte, from []T, size int) {
	p := unsafe.Pointer(unsafe.SliceData(to))
	for i, x := range from {
		*(*T)(unsafe.Add(p, i*size)) = x
	}
}
