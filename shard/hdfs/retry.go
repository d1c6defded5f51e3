package hdfs

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// The pauses between tries of a namenode: it takes some seconds to fail over, and some dozens to
// start.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 6 * time.Second
)

func newBackoff() driver.Backoff { return driver.Backoff{First: firstPause, Longest: lastPause} }

// retry runs f with a client until the namenodes answer, for at most Options.RetryFor after the
// first failure. Each try has another client, and starts with another namenode if there are
// several.
func (c *cluster) retry(ctx context.Context, f func(context.Context, *client) error) error {
	b := newBackoff()
	for {
		err := c.use(ctx, f)
		if err == nil || !namenodeFault(err) || c.nowhere(err) || !c.pause(ctx, &b, err) {
			if ctx.Err() != nil {
				return cause.Of(ctx)
			}
			return err
		}
		c.meter.Retries.Add(1)
	}
}

// pause waits after a failure, or reports that there were enough.
func (c *cluster) pause(ctx context.Context, b *driver.Backoff, err error) bool {
	b.For = c.store.options.RetryFor
	c.store.outage.Waiting("HDFS", b, err)
	return b.Wait(ctx, 0)
}

// nowhere reports whether the address is a mistake: its host is unknown and has never answered.
func (c *cluster) nowhere(err error) bool {
	return !c.known.Load() && noSuchHost(err)
}
