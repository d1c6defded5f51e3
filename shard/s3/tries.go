package s3

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// How often a request is made again, and how long the pauses before are; see driver.Backoff.
const (
	maxForeign  = 5 // lasting foreign answers without progress
	maxMoves    = 3 // to another region
	firstWait   = 100 * time.Millisecond
	longestWait = 8 * time.Second
)

// tries counts the tries of one operation: a read or a request.
type tries struct {
	driver.Backoff
	store  *Store
	bucket string

	moves   int
	renewed bool
}

func (s *Store) newTries(bucket string) tries {
	t := tries{Backoff: driver.Backoff{First: firstWait, Longest: longestWait, For: s.o.RetryFor}, store: s, bucket: bucket}
	t.Progress()
	return t
}

// again returns nil, after a wait, when another try is worth it, else the error to return.
func (p *tries) again(ctx context.Context, c *client, err error) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	if p.moves < maxMoves && p.store.moved(c, p.bucket, err) {
		p.moves++
		c.meter.Retries.Add(1)
		return nil
	}
	if !p.renewed && isExpired(err) && p.store.clients.renew(c.session) {
		p.renewed = true
		c.meter.Retries.Add(1)
		return nil
	}
	if isThrottle(err) {
		c.meter.Throttled.Add(1)
		c.window.Slow()
	}
	if !isPassing(err) && !(isUnknownHost(err) && c.answered.Load()) {
		return err
	}
	if p.Most = 0; isLasting(err) {
		p.Most = maxForeign
	}
	p.store.outage.Waiting(c.name, &p.Backoff, errors.New(said(err)))
	if p.Wait(ctx, retryAfter(err)) {
		c.meter.Retries.Add(1)
		return nil
	}
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	if isLasting(err) {
		return err
	}
	n, waited := p.Tries()
	return fmt.Errorf("%w: gave up after %d tries in %v without progress: %w", shard.ErrTransient, n, waited.Round(time.Millisecond), err)
}

// retryAfter returns the seconds of the answer's Retry-After header; no server sends a date.
func retryAfter(err error) time.Duration {
	answer := answerOf(err)
	if answer == nil {
		return 0
	}
	s, err := strconv.Atoi(answer.Response.Header.Get("Retry-After"))
	if err != nil || s < 0 || s > 3600 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// call makes one request, again where that helps. Request is given a client and a context that ends
// when the answer takes too long.
func (s *Store) call(ctx context.Context, bucket string, request func(ctx context.Context, c *client) error) (*client, error) {
	p := s.newTries(bucket)
	for {
		c, err := s.get(ctx, bucket)
		if err != nil {
			return nil, err
		}
		if err = s.callOnce(ctx, c, request); err == nil {
			return c, nil
		}
		if err = p.again(ctx, c, err); err != nil {
			return c, err
		}
	}
}

func (s *Store) callOnce(ctx context.Context, c *client, request func(ctx context.Context, c *client) error) error {
	if err := c.window.Acquire(ctx); err != nil {
		return err
	}
	defer c.window.Release()
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeouts*s.o.ReadTimeout, driver.ErrStalled)
	defer cancel()
	err := request(ctx, c)
	switch {
	case err == nil:
		c.answered.Store(true)
		c.window.Done()
	case driver.Stalled(ctx):
		return fmt.Errorf("%w: %w", driver.ErrStalled, err)
	case isAnswer(err):
		c.answered.Store(true)
	}
	return err
}

// callTimeouts is how many read timeouts a whole small request may take: a page of a long list is
// computed before its first byte is sent.
const callTimeouts = 3
