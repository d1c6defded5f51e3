package s3

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// An endpoint is a server, or AWS in one region, as requests see it.
type endpoint struct {
	name     string // for messages
	window   *driver.Window
	latency  latency
	answered atomic.Bool // it was reached before
}

// A client sends requests for one bucket.
type client struct {
	*endpoint
	api     *s3.Client
	session *session
	region  string
	meter   *driver.Meter // of the bucket
}

// clients finds the client of a bucket.
type clients struct {
	// At most one call at a time reads outside state: configuration, credentials, a bucket's
	// region.
	outside *semaphore.Weighted

	mu        sync.Mutex
	session   *session
	made      time.Time            // when the session was
	endpoints map[string]*endpoint // by name
	regions   map[string]region    // by bucket
}

// A region is the region of a bucket, and the source of that knowledge.
type region struct{ name, from string }

// renewEvery is how often expired credentials are looked up again.
const renewEvery = 10 * time.Second

// get returns a bucket's client. The first call reads the configuration and may ask for the region.
func (s *Store) get(ctx context.Context, bucket string) (*client, error) {
	ses, err := s.currentSession(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := s.clients.region(bucket)
	if !ok {
		if r, err = s.findRegion(ctx, ses, bucket); err != nil {
			return nil, err
		}
	}
	return s.clientOf(ses, r.name, bucket), nil
}

// findRegion finds the region of a bucket, once for all concurrent callers.
func (s *Store) findRegion(ctx context.Context, ses *session, bucket string) (region, error) {
	if s.clients.outside.Acquire(ctx, 1) != nil {
		return region{}, cause.Of(ctx)
	}
	defer s.clients.outside.Release(1)
	if r, ok := s.clients.region(bucket); ok {
		return r, nil
	}
	r := s.firstRegion(ctx, ses, bucket)
	if ctx.Err() != nil { // no answer came
		return region{}, cause.Of(ctx)
	}
	s.clients.setRegion(bucket, r)
	return r, nil
}

func (s *Store) clientOf(ses *session, region, bucket string) *client {
	c := &client{
		endpoint: s.clients.endpoint(describeEndpoint(ses), region, s.o),
		api:      ses.client(region), session: ses, region: region, meter: s.meter(bucket),
	}
	c.meter.Follow(c.window)
	return c
}

// currentSession returns the session. The first call makes it, and the next one after a failure.
func (s *Store) currentSession(ctx context.Context) (*session, error) {
	c := &s.clients
	if ses := c.current(); ses != nil {
		return ses, nil
	}
	if c.outside.Acquire(ctx, 1) != nil {
		return nil, cause.Of(ctx)
	}
	defer c.outside.Release(1)
	if ses := c.current(); ses != nil {
		return ses, nil
	}
	ses, err := newSession(ctx, s.o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.made = ses, time.Now()
	return ses, nil
}

func (c *clients) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// renew forgets a session whose credentials expired, so that the next call reads the configuration
// again: the user may have logged in again. It returns false when that was done a moment ago.
func (c *clients) renew(old *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != old {
		return true // another call did it
	}
	if time.Since(c.made) < renewEvery {
		return false
	}
	c.session = nil
	old.close()
	return true
}

func (c *clients) region(bucket string) (region, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.regions[bucket]
	return r, ok
}

func (c *clients) setRegion(bucket string, r region) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regions[bucket] = r
}

// endpoint returns the one of a name and region: all its requests share one window.
func (c *clients) endpoint(name, region string, o Options) *endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := name + " " + region
	e, ok := c.endpoints[key]
	if !ok {
		window := driver.NewWindow(min(leastRequests, o.MaxRequests), min(startRequests, o.MaxRequests), o.MaxRequests)
		e = &endpoint{name: name, window: window}
		c.endpoints[key] = e
	}
	return e
}

// firstRegion returns the region to try first for a bucket: the configured one, else the one that
// the bucket reports. If it reports none, the error of the actual request will be clearer than the
// error of this one.
func (s *Store) firstRegion(ctx context.Context, ses *session, bucket string) region {
	switch {
	case ses.regionFrom != "":
		return region{ses.cfg.Region, "named " + ses.regionFrom}
	case ses.endpoint != "":
		return region{fallbackRegion, "the default"}
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.ReadTimeout)
	defer cancel()
	look := s.meter(bucket).Start(ctx, driver.LookRequest)
	out, err := ses.client(fallbackRegion).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	name := regionIn(err)
	if err == nil {
		name = aws.ToString(out.BucketRegion)
	}
	if name != "" {
		err = nil // it answered
	}
	look.End(err)
	if name == "" {
		return region{fallbackRegion, "the default"}
	}
	return region{name, foundByAsking}
}

const foundByAsking = "found by asking the bucket"

// moved follows an answer that names another region than the one that was asked.
func (s *Store) moved(c *client, bucket string, err error) bool {
	name := regionIn(err)
	if status := answerStatus(err); name == "" || name == c.region || status != 301 && status != 400 && status != 403 {
		return false
	}
	s.clients.setRegion(bucket, region{name, foundByAsking})
	return true
}
