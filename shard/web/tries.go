package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

const (
	firstPause = 200 * time.Millisecond // see driver.Backoff
	longPause  = 8 * time.Second

	mostRefused = 5 // times that another server refuses what it is redirected to

	// The pauses that a server asks for do not count as time without an answer, up to these.
	longestAsked = 5*time.Minute + 10*time.Second // a window of the hub's rate limits
	mostAsked    = 30 * time.Minute               // of one operation
	notedAsked   = 5 * time.Second                // from which on a pause is noted
)

// tries counts the requests of one operation, such as the read of a part.
type tries struct {
	driver.Backoff
	server *server
	asked  time.Duration // that a server asked to wait, in all
}

func (s *server) newTries() *tries {
	t := &tries{Backoff: driver.Backoff{First: firstPause, Longest: longPause, For: s.store.options.RetryFor}, server: s}
	t.Progress()
	return t
}

// try makes a request until it succeeds or fails for good.
func (s *server) try(ctx context.Context, request func() error) error {
	t := s.newTries()
	for {
		err := request()
		if err == nil {
			s.met.Store(true)
			return nil
		}
		if err = t.again(ctx, err); err != nil {
			return err
		}
	}
}

// limit narrows the window to the requests that the server still takes by its rate limit.
func (s *server) limit(head http.Header) {
	if left, _, ok := rateLimit(head); ok {
		s.window.Left(left)
	}
}

// again returns nil, after a pause, if a request that failed may be made again, else the error.
func (t *tries) again(ctx context.Context, err error) error {
	s := t.server
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	if !errors.Is(err, connect.ErrNoHost) && !errors.Is(err, syscall.ECONNREFUSED) {
		s.met.Store(true)
	}
	if !errors.Is(err, shard.ErrTransient) && !(errors.Is(err, connect.ErrNoHost) && s.met.Load()) {
		return err
	}
	refused, answered := errors.AsType[*statusError](err)
	if answered && refused.throttles() {
		s.window.Slow()
		s.meter.Throttled.Add(1)
		if pause := min(refused.after, longestAsked); pause > 0 && t.asked+pause <= mostAsked {
			t.asked += pause
			return t.pause(ctx, pause, refused)
		}
	}
	if t.Most = 0; answered && refused.expired() {
		t.Most = mostRefused
	}
	s.store.outage.Waiting(s.origin, &t.Backoff, err)
	if !t.Wait(ctx, 0) {
		if ctx.Err() != nil {
			return cause.Of(ctx)
		}
		if answered && refused.expired() {
			return fmt.Errorf("%w: %s refuses what %s redirects to", shard.ErrDenied, refused.host, s.origin)
		}
		n, took := t.Tries()
		return fmt.Errorf("gave up after %d tries in %v without progress: %w", n, took.Round(time.Millisecond), err)
	}
	s.meter.Retries.Add(1)
	return nil
}

// pause waits as long as a server asks, which is not a time without progress.
func (t *tries) pause(ctx context.Context, d time.Duration, why *statusError) error {
	s := t.server
	if d >= notedAsked && s.store.options.Waiting != nil && s.noted.CompareAndSwap(false, true) {
		s.store.options.Waiting(fmt.Sprintf("%s takes no more requests for %v: %d %s%s", s.origin, d.Round(time.Second), why.status,
			http.StatusText(why.status), why.limit))
		time.AfterFunc(d, func() { s.noted.Store(false) })
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return cause.Of(ctx)
	}
	t.Progress()
	s.meter.Retries.Add(1)
	return nil
}
