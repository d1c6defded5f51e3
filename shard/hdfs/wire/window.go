package wire

import (
	"io"
	"sync"
)

// bufferSize holds several packets of the usual 64 KiB, so that one call of the system brings them;
// more than twice as much gains nothing.
const bufferSize = 512 << 10

type buffer [bufferSize]byte

// buffers of connections that are gone.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A window is the part of a stream that has arrived and was not taken: first verified bytes, then
// others. The zero value is empty.
type window struct {
	pooled  *buffer // what buf began as; goes back to the pool
	buf     []byte
	r, v, w int // buf[r:v] is verified, buf[v:w] is not
}

func (w *window) verified() []byte { return w.buf[w.r:w.v] }

// unverified is how many bytes follow those.
func (w *window) unverified() int { return w.w - w.v }

func (w *window) take(n int) { w.r += n }

// verify marks the next n bytes.
func (w *window) verify(n int) { w.v += n }

// skip drops the next n bytes, which are not verified. All verified bytes must have been taken.
func (w *window) skip(n int) { w.r, w.v = w.r+n, w.v+n }

// fill returns the first n bytes that are not verified, after reading what is missing of them and
// whatever else is there. All verified bytes must have been taken.
func (w *window) fill(r io.Reader, n int) ([]byte, error) {
	if have := w.unverified(); have < n {
		w.room(n)
		k, err := io.ReadAtLeast(r, w.buf[w.w:], n-have)
		w.w += k
		if err != nil {
			return nil, err
		}
	}
	return w.buf[w.v : w.v+n], nil
}

func (w *window) room(n int) {
	if w.buf == nil {
		w.pooled = buffers.Get().(*buffer)
		w.buf = w.pooled[:]
	}
	if w.v+n <= len(w.buf) && w.v != w.w {
		return
	}
	to := w.buf
	if n > len(to) {
		to = make([]byte, n+n/4)
	}
	w.w = copy(to, w.buf[w.v:w.w])
	w.buf, w.r, w.v = to, 0, 0
}

// free gives the memory back and leaves the window empty.
func (w *window) free() {
	if w.pooled != nil {
		buffers.Put(w.pooled)
	}
	*w = window{}
}
