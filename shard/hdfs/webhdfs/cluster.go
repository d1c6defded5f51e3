package webhdfs

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// A cluster is the set of servers of one tree of files.
type cluster struct {
	store  *Store
	bases  []*base
	window *driver.Window
	meter  *driver.Meter

	active    atomic.Int64 // index of the base that answered last
	met       atomic.Bool  // a server took a connection
	byName    atomic.Bool  // inodes cannot be read by their number
	noPages   atomic.Bool  // LISTSTATUS_BATCH is unknown
	noLocated atomic.Bool  // GET_BLOCK_LOCATIONS is unknown
}

// A base is one server: a namenode's web server, HttpFS or a gateway.
type base struct {
	url     *url.URL // of apiRoot's parent
	auth    auth
	meter   *driver.Meter
	service string // nameservice by which it was found; guarded by the store
}

func newCluster(s *Store, bases []string) (*cluster, error) {
	c := &cluster{store: s, window: driver.NewWindow(4, 16, s.options.MaxRequests)}
	for _, b := range bases {
		u, err := url.Parse(b)
		if err != nil {
			return nil, err
		}
		if c.meter == nil {
			c.meter = s.meters.Of(placeOf(u))
			c.meter.Follow(c.window)
		}
		c.bases = append(c.bases, &base{url: u, meter: c.meter, auth: auth{turn: semaphore.NewWeighted(1)}})
	}
	return c, nil
}

// placeOf names a server in figures.
func placeOf(u *url.URL) string {
	if u.Scheme == "https" {
		return "swebhdfs://" + u.Host
	}
	return "webhdfs://" + u.Host
}

// The pauses between tries; see driver.Backoff.
const (
	firstPause = 200 * time.Millisecond
	longPause  = 6 * time.Second
)

// newBackoff spaces the tries of one thing. The first one of each server costs no pause.
func (c *cluster) newBackoff() *driver.Backoff {
	b := &driver.Backoff{First: firstPause, Longest: longPause, For: c.store.options.RetryFor, Free: len(c.bases) - 1}
	b.Progress()
	return b
}

// try runs a request with the active server, then with the others and again, until it goes well,
// fails for good or the time for tries is over.
func (c *cluster) try(ctx context.Context, request func(ctx context.Context, b *base) error) error {
	b := c.newBackoff()
	for {
		at := c.active.Load()
		err := request(ctx, c.bases[at])
		if !errors.Is(err, connect.ErrNoHost) && !errors.Is(err, syscall.ECONNREFUSED) {
			c.met.Store(true)
		}
		if err == nil || !c.elsewhere(at, err) {
			return err
		}
		c.store.outage.Waiting(c.bases[at].url.Host, b, err)
		if !b.Wait(ctx, 0) {
			if ctx.Err() != nil {
				return cause.Of(ctx)
			}
			return err
		}
		c.meter.Retries.Add(1)
	}
}

// elsewhere reports whether a request that failed with the server of that index should be made
// again, and moves on to the next server when it was that one's fault.
func (c *cluster) elsewhere(at int64, err error) bool {
	absent := errors.Is(err, connect.ErrNoHost) && (len(c.bases) > 1 || c.met.Load())
	if !passing(err) && !absent {
		return false
	}
	if throttled(err) {
		c.window.Slow()
		c.meter.Throttled.Add(1)
	}
	if next := (at + 1) % int64(len(c.bases)); next != at && c.active.CompareAndSwap(at, next) {
		c.meter.Failovers.Add(1)
	}
	return true
}
