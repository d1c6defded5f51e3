package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// A server is the one of an origin, whichever others it redirects to.
type server struct {
	store  *Store
	origin string
	window *driver.Window
	meter  *driver.Meter
	met    atomic.Bool // it has answered
}

// Window sizes: few at first, since most web servers are small.
const (
	leastRequests = 2
	startRequests = 8
)

func newServer(s *Store, origin string) *server {
	w := &server{store: s, origin: origin, window: driver.NewWindow(leastRequests, startRequests, s.options.MaxRequests), meter: s.meters.Of(origin)}
	w.meter.Follow(w.window)
	return w
}

// The pauses between tries; see driver.Backoff.
const (
	firstPause = 200 * time.Millisecond
	longPause  = 8 * time.Second
)

func (s *server) newBackoff() *driver.Backoff {
	b := &driver.Backoff{First: firstPause, Longest: longPause, For: s.store.options.RetryFor}
	b.Progress()
	return b
}

// again returns nil, after a pause, if a request that failed may be made again, else the error.
func (s *server) again(ctx context.Context, b *driver.Backoff, err error) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	if !errors.Is(err, connect.ErrNoHost) && !errors.Is(err, syscall.ECONNREFUSED) {
		s.met.Store(true)
	}
	if !errors.Is(err, shard.ErrTransient) && !(errors.Is(err, connect.ErrNoHost) && s.met.Load()) {
		return err
	}
	var asked time.Duration
	if refused, ok := errors.AsType[*statusError](err); ok {
		if asked = refused.after; refused.throttles() {
			s.window.Slow()
			s.meter.Throttled.Add(1)
		}
	}
	s.store.outage.Waiting(s.origin, b, err)
	if !b.Wait(ctx, asked) {
		if ctx.Err() != nil {
			return cause.Of(ctx)
		}
		n, took := b.Tries()
		return fmt.Errorf("gave up after %d tries in %v without progress: %w", n, took.Round(time.Millisecond), err)
	}
	s.meter.Retries.Add(1)
	return nil
}

// look describes the file at a path by a request for its first byte.
func (s *server) look(ctx context.Context, a address, path string) (driver.Entry, error) {
	b := s.newBackoff()
	for {
		e, err := s.lookOnce(ctx, a, path)
		if err == nil {
			s.met.Store(true)
			return e, nil
		}
		if err = s.again(ctx, b, err); err != nil {
			return driver.Entry{}, err
		}
	}
}

func (s *server) lookOnce(ctx context.Context, a address, path string) (e driver.Entry, err error) {
	if err := s.window.Acquire(ctx); err != nil {
		return e, err
	}
	defer s.window.Release()
	ctx, w := driver.NewWatch(ctx)
	defer w.End(nil)
	measured := s.meter.Start(ctx, driver.LookRequest)
	defer func() { measured.End(err) }()
	w.Begin(s.store.options.ReadTimeout)
	u, err := a.locate(path)
	if err != nil {
		return e, err
	}
	answer, err := s.send(ctx, u, shard.Span{N: 1}, "")
	if empty, ok := errors.AsType[*statusError](err); ok && empty.status == http.StatusRequestedRangeNotSatisfiable && empty.total == 0 {
		return driver.Entry{Name: path, Version: empty.version}, nil // a file of no bytes has no first one
	}
	if err != nil {
		return e, err
	}
	defer connect.Drain(answer)
	if strings.HasSuffix(answer.Request.URL.Path, "/") {
		return driver.Entry{Kind: driver.KindDir}, nil
	}
	size, err := sizeOf(answer)
	if err != nil {
		return e, err
	}
	s.window.Done()
	return driver.Entry{Name: path, Size: size, Version: versionOf(answer.Header)}, nil
}

// sizeOf returns the size of the file whose first bytes an answer has.
func sizeOf(answer *http.Response) (int64, error) {
	if answer.StatusCode == http.StatusOK {
		if answer.ContentLength == 0 {
			return 0, nil
		}
		return 0, errNoRanges
	}
	_, _, total, err := parseContentRange(answer.Header.Get("Content-Range"))
	return total, err
}

// parseContentRange reads "bytes 0-9/100". The second result is the byte after the last.
func parseContentRange(text string) (off, end, total int64, err error) {
	span, size, found := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, last, ranged := strings.Cut(span, "-")
	off, err1 := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	if size == "*" {
		return 0, 0, 0, fmt.Errorf("%w: it does not say the file's size: Content-Range %.100q", errNoRanges, text)
	}
	total, err3 := strconv.ParseInt(size, 10, 64)
	if !found || !ranged || errors.Join(err1, err2, err3) != nil || off < 0 || end < off || end >= total {
		return 0, 0, 0, fmt.Errorf("%w: Content-Range %.100q", errForeign, text)
	}
	return off, end + 1, total, nil
}
