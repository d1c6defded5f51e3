package hdfs

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// The pauses between tries of a namenode: it takes some seconds to fail over, and some dozens to start.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 6 * time.Second
)

// patience is how long a call goes on after it failed for the first time.
type patience struct {
	window time.Duration
	since  time.Time // of the first failure in a row; zero when there is none
	pause  time.Duration
}

// wait pauses after a failure, or reports that there were enough. It ends with ctx.
func (p *patience) wait(ctx context.Context) bool {
	if p.since.IsZero() {
		p.since, p.pause = time.Now(), firstPause
	}
	if time.Since(p.since)+p.pause > p.window {
		return false
	}
	timer := time.NewTimer(p.pause)
	defer timer.Stop()
	p.pause = min(2*p.pause, lastPause)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reset is called after a success.
func (p *patience) reset() { p.since = time.Time{} }

// retry runs f with a client until the namenodes have answered, for at most Options.RetryFor after the first failure. Each try has another
// client, and begins with another namenode where there are several.
func (c *cluster) retry(ctx context.Context, f func(context.Context, *client) error) error {
	var p patience
	for {
		err := c.use(ctx, f)
		if err == nil || !namenodeFault(err) || c.nowhere(err) || !c.bear(ctx, &p, err) {
			if ctx.Err() != nil {
				return driver.Ended(ctx)
			}
			return err
		}
		c.store.traffic.retries.Add(1)
	}
}

// bear pauses after a failure, or reports that there were enough. A lone namenode that refuses the first connections is soon taken for a wrong
// port; of a pair one may be on its way up.
func (c *cluster) bear(ctx context.Context, p *patience, err error) bool {
	p.window = c.store.options.RetryFor
	if !c.known.Load() && len(c.ns.RPC) == 1 && refused(err) {
		p.window = c.store.firstContact
	}
	return p.wait(ctx)
}

// nowhere reports whether the address is a mistake: a host that there is not, and none of the namenodes has ever answered.
func (c *cluster) nowhere(err error) bool {
	return !c.known.Load() && noSuchHost(err)
}
