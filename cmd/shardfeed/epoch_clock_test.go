package main

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Only whole epochs say how long an epoch takes, and the longest counts.
func TestEpochClock(t *testing.T) {
	c := newEpochClock(&cache.Cache{}, shuffle.State{Epoch: 3, Position: 100})
	step := func(epoch uint64, took time.Duration) time.Duration {
		c.begun = c.begun.Add(-took)
		c.at(epoch)
		return c.longest
	}
	if got := step(3, time.Hour); got != 0 {
		t.Errorf("within an epoch: %v", got)
	}
	if got := step(4, 0); got != 0 {
		t.Errorf("after a part of an epoch: %v", got)
	}
	if got := step(5, time.Hour); got < time.Hour || got > 2*time.Hour {
		t.Errorf("after an epoch of an hour: %v", got)
	}
	if got := step(6, time.Minute); got < time.Hour {
		t.Errorf("after a shorter one: %v", got)
	}
	newEpochClock(nil, shuffle.State{}).at(1) // there is no cache
}
