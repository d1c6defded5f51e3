package main

import (
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An epochClock reports to the cache how long epochs take, so that kept shards live until the next
// epoch has used them.
type epochClock struct {
	cache   *cache.Cache // nil: there is no cache
	epoch   uint64
	begun   time.Time
	whole   bool // the epoch was begun at its first row
	longest time.Duration
}

// newEpochClock starts where a run starts.
func newEpochClock(c *cache.Cache, start shuffle.State) *epochClock {
	return &epochClock{cache: c, epoch: start.Epoch, begun: time.Now(), whole: start.Position == 0}
}

// at records the run's current epoch.
func (c *epochClock) at(epoch uint64) {
	if c.cache == nil || epoch == c.epoch {
		return
	}
	now := time.Now()
	if took := now.Sub(c.begun); c.whole && took > c.longest {
		c.longest = took
		c.cache.KeepForEpochs(took)
	}
	c.epoch, c.begun, c.whole = epoch, now, true
}
