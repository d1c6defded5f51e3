package keep

import (
	"context"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/cores"
)

const keepShare = 200 // keepers take 1/keepShare of the processors' time, unless one of them is idle

// A governor limits the processor time of a data set's keepers. One keeper works at a time, on one
// row group: without limit while a processor is idle, and else for at most 1/keepShare of the time
// of all processors.
type governor struct {
	turn sync.Mutex // held from enter to leave

	begun  time.Time
	worked time.Duration
	pace   float64 // nanoseconds of work for a byte of memory, as it was last

	meter  cores.IdleMeter
	idle   func() (processors float64, ok bool) // in place of the meter, for tests
	rested time.Time                            // since when nothing has worked and the meter runs; zero when it does not
	free   time.Time                            // until when work may go on
}

const (
	idleEvery = 100 * time.Millisecond // how long a look at what is idle takes; nothing works meanwhile
	idleFor   = 400 * time.Millisecond // and how long it holds
	firstPace = 2                      // of the first work

	// keepPause is between looks. Each costs a stream on two busy processors about a millisecond:
	// the timer interrupts its work. 50 looks a second made epochs 5 % longer.
	keepPause = 200 * time.Millisecond
)

// enter waits for a turn with work on bytes of memory: until enough time is saved up, or a
// processor is idle. It returns false if ctx ends.
func (g *governor) enter(ctx context.Context, bytes int64) bool {
	if !pollUntil(ctx, g.turn.TryLock) { // another keeper may wait long
		return false
	}
	if g.pace == 0 {
		g.pace = firstPace
	}
	work := time.Duration(g.pace * float64(bytes))
	if !pollUntil(ctx, func() bool { return g.may(work) }) {
		g.turn.Unlock()
		return false
	}
	return true
}

// pollUntil calls holds every keepPause until it returns true. It returns false if ctx ends.
func pollUntil(ctx context.Context, holds func() bool) bool {
	for ctx.Err() == nil {
		if holds() {
			return true
		}
		select {
		case <-time.After(keepPause):
		case <-ctx.Done():
		}
	}
	return false
}

// may reports whether a keeper may work for about this time now.
func (g *governor) may(work time.Duration) bool {
	now := time.Now()
	if g.begun.IsZero() {
		g.begun = now
	}
	if now.Before(g.free) || g.look(now) {
		return true
	}
	allowed := now.Sub(g.begun) * time.Duration(cores.Number()) / keepShare
	if saved := allowed - g.worked; saved > 2*work { // no more than for twice the work
		g.begun = now.Add(-(g.worked + 2*work) * keepShare / time.Duration(cores.Number()))
	}
	return g.worked+work <= allowed
}

// look reports whether a processor was idle while no keeper worked, if enough time has passed.
func (g *governor) look(now time.Time) bool {
	read := g.meter.Read
	if g.idle != nil {
		read = g.idle
	}
	if !g.rested.IsZero() && now.Sub(g.rested) < idleEvery {
		return false
	}
	idle, ok := read()
	if ok && idle >= 1 && !g.rested.IsZero() {
		g.free, g.rested = now.Add(idleFor), time.Time{}
		return true
	}
	g.rested = now
	return false
}

// leave ends a turn. Work on an idle processor is free.
func (g *governor) leave(bytes int64, took time.Duration) {
	g.pace = float64(took) / float64(max(1, bytes))
	if g.free.IsZero() {
		g.worked += took
	}
	if !time.Now().Before(g.free) {
		g.free, g.rested = time.Time{}, time.Time{}
	}
	g.turn.Unlock()
}
