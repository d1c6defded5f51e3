package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// How often a request is made again, and how long is waited before. The waits grow twofold from the first to the longest, a random half
// of each taken off, so that many clients do not come back together.
const (
	maxTries       = 20 // without progress
	maxFirstTries  = 3  // of a server that never answered: its address is wrong, rather
	maxMoves       = 3  // to another region
	firstWait      = 100 * time.Millisecond
	longestWait    = 8 * time.Second
	longestAskedOf = 30 * time.Second // by Retry-After
)

// A patience counts the tries of one thing. Progress starts it anew, so that a long read over a bad network goes on as long as bytes come.
type patience struct {
	store  *Store
	bucket string

	tries   int
	since   time.Time // of the start or of the last progress
	moves   int
	renewed bool
}

func (s *Store) patience(bucket string) patience {
	return patience{store: s, bucket: bucket, since: time.Now()}
}

// progress says that bytes came.
func (p *patience) progress() { p.tries, p.since = 0, time.Now() }

// again decides what follows a failed try: nil, after a wait, when it is worth another, else the error to return.
func (p *patience) again(ctx context.Context, c *client, err error) error {
	if ctx.Err() != nil {
		return driver.Ended(ctx)
	}
	if p.moves < maxMoves && p.store.moved(c, p.bucket, err) {
		p.moves++
		p.store.counts.retries.Add(1)
		return nil
	}
	if !p.renewed && isExpired(err) && p.store.clients.renew(c.session) {
		p.renewed = true
		p.store.counts.retries.Add(1)
		return nil
	}
	if isThrottle(err) {
		p.store.counts.throttled.Add(1)
		c.window.Slow()
	}
	if !isPassing(err) {
		return err
	}
	p.tries++
	most := maxTries
	if isUnreachable(err) && !c.answered.Load() {
		most = maxFirstTries
	}
	if waited := time.Since(p.since); p.tries >= most || waited >= p.store.o.GiveUp {
		return fmt.Errorf("%w: gave up after %d tries in %v without progress: %w", shard.ErrTransient, p.tries, waited.Round(time.Millisecond), err)
	}
	p.store.counts.retries.Add(1)
	return sleep(ctx, waitBefore(p.tries, err))
}

// waitBefore is how long to wait before a try: what the server asked for, else longer each time.
func waitBefore(try int, err error) time.Duration {
	if asked := retryAfter(err); asked > 0 {
		return min(asked, longestAskedOf)
	}
	d := longestWait
	if shift := try - 1; shift < 10 {
		d = min(firstWait<<shift, longestWait)
	}
	return d/2 + rand.N(d/2)
}

// retryAfter is what the answer's header asks for, in seconds as all servers send it.
func retryAfter(err error) time.Duration {
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.Response == nil {
		return 0
	}
	s, err := strconv.Atoi(http.Header(answer.Response.Header).Get("Retry-After"))
	if err != nil || s < 0 || s > 3600 {
		return 0
	}
	return time.Duration(s) * time.Second
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return driver.Ended(ctx)
	}
}

// call makes one request, again where that helps. Request is given a client and a context that ends when the answer takes too long.
func (s *Store) call(ctx context.Context, bucket string, request func(ctx context.Context, c *client) error) (*client, error) {
	p := s.patience(bucket)
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
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeouts*s.o.ReadTimeout, errStalled)
	defer cancel()
	err := request(ctx, c)
	switch {
	case err == nil:
		c.answered.Store(true)
		c.window.Done()
	case errors.Is(context.Cause(ctx), errStalled):
		return fmt.Errorf("%w: %w", errStalled, err)
	case isAnswer(err):
		c.answered.Store(true)
	}
	return err
}

// callTimeouts is how many read timeouts a whole small request may take: a page of a long list is computed before its first byte is sent.
const callTimeouts = 3
