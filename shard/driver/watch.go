package driver

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrStalled is the cause by which a Watch ends its context.
var ErrStalled = errors.New("no byte came within the read timeout")

// A Watch ends a request that brings nothing for too long. All but End are for one goroutine at a
// time.
type Watch struct {
	stop  context.CancelCauseFunc
	timer *time.Timer // nil before Begin
	after time.Duration
	set   time.Time // when the timer was last set
}

// NewWatch returns the context of one request, which End must end.
func NewWatch(ctx context.Context) (context.Context, *Watch) {
	ctx, stop := context.WithCancelCause(ctx)
	return ctx, &Watch{stop: stop}
}

// Begin ends the context, with the cause ErrStalled, after a time without progress.
func (w *Watch) Begin(after time.Duration) {
	w.after, w.set = after, time.Now()
	w.timer = time.AfterFunc(after, func() { w.stop(ErrStalled) })
}

// Progress reports progress. It does not reset the timer at each of the many reads of a body.
func (w *Watch) Progress() {
	if now := time.Now(); now.Sub(w.set) > w.after/16 {
		w.set = now
		w.timer.Reset(w.after)
	}
}

// Reader returns a reader of r that reports arriving bytes as progress.
func (w *Watch) Reader(r io.Reader) io.Reader { return &watchedReader{r, w} }

type watchedReader struct {
	io.Reader
	watch *Watch
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watch.Progress()
	}
	return n, err
}

// End ends the context. A cause but nil is for a request that is given up; the one who made the
// request ends it with nil afterwards.
func (w *Watch) End(cause error) {
	w.stop(cause)
	if cause == nil && w.timer != nil {
		w.timer.Stop()
	}
}

// Stalled reports whether a watch ended ctx.
func Stalled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrStalled) }
