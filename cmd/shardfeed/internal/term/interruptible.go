package term

import (
	"context"
	"io"
	"time"
)

// grace is how long a write that has begun may go on after an interrupt, so that it can end with a
// whole line.
const grace = 500 * time.Millisecond

// An interruptible is a writer whose writes end when ctx does, even if the pipe has no active
// reader. It must not be used after that: the write may still be running.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

// NewInterruptible returns a writer to w whose writes end when ctx does. It must not be used after
// that.
func NewInterruptible(ctx context.Context, w io.Writer) io.Writer { return interruptible{ctx, w} }

func (i interruptible) Write(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil { // no write starts after an interrupt
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := i.w.Write(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-i.ctx.Done():
	}
	select {
	case r := <-done:
		return r.n, r.err
	case <-time.After(grace):
		return 0, i.ctx.Err()
	}
}
