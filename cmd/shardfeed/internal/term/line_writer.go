package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// chunkBytes is how much is written at once: a pipe that is ready takes this much without blocking.
const chunkBytes = 4096

// A LineWriter writes lines and knows how many bytes of them the reader has taken, also when it is
// interrupted or the reader goes away. It never blocks in a full pipe: it waits until the pipe is
// ready, and an interrupt ends the wait. A line that has begun is completed if the reader takes it
// within the grace period.
type LineWriter struct {
	ctx     context.Context
	out     io.Writer
	file    *os.File // out, if it is a file
	pipe    int64    // bytes that its pipe holds at most; 0: it is not a pipe
	Written int64
}

func NewLineWriter(ctx context.Context, out io.Writer) *LineWriter {
	w := &LineWriter{ctx: ctx, out: Shown(out)}
	w.file, _ = out.(*os.File)
	if w.file != nil {
		w.pipe = pipeCapacity(w.file)
	}
	return w
}

func (w *LineWriter) Write(p []byte) (n int, err error) {
	var deadline time.Time // after an interrupt
	for n < len(p) {
		rest := wholeLines(p[n:])
		if err := w.ctx.Err(); err != nil {
			if n == 0 || p[n-1] == '\n' {
				return n, err
			}
			if deadline.IsZero() {
				deadline = time.Now().Add(grace)
			}
			if time.Now().After(deadline) {
				return n, err
			}
		}
		if w.pipe > 0 && !waitWritable(w.file) {
			continue
		}
		m, err := w.out.Write(rest)
		n += m
		w.Written += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// wholeLines returns the first chunk of b: the whole lines that fit, or a part of a longer line.
func wholeLines(b []byte) []byte {
	if len(b) <= chunkBytes {
		return b
	}
	chunk := b[:chunkBytes]
	if end := bytes.LastIndexByte(chunk, '\n'); end >= 0 {
		return chunk[:end+1]
	}
	return chunk
}

// Taken returns how many bytes the reader took before the error err. Bytes in a pipe whose reader
// is gone do not count.
func (w *LineWriter) Taken(err error) int64 {
	if w.pipe > 0 && errors.Is(err, syscall.EPIPE) {
		return w.Written - unread(w.file)
	}
	return w.Written
}

// Sure returns how many bytes the reader has taken at least: all but what the pipe may still hold.
func (w *LineWriter) Sure() int64 { return w.Written - w.pipe }
