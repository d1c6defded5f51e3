package driver

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Backoff paces and limits the tries of one operation. Its pauses double from First to Longest,
// with a random half of each taken off, so that many clients do not retry together. Progress
// restarts it, so that a long read over a bad network continues while bytes arrive.
type Backoff struct {
	First, Longest time.Duration // pauses
	For            time.Duration // without progress, after which there is no other try
	Most           int           // tries without progress; 0 is any number
	Free           int           // tries before the first pause, with other servers

	tries int
	since time.Time // of the last progress, else of the first fault
}

// longestAsked bounds a pause that a server asks for.
const longestAsked = 30 * time.Second

// Progress reports that bytes arrived, or that the operation starts now.
func (b *Backoff) Progress() { b.tries, b.since = 0, time.Now() }

// Tries is how many failed since the last progress, and for how long.
func (b *Backoff) Tries() (n int, took time.Duration) { return b.tries, time.Since(b.since) }

// Wait pauses after a fault, for as long as the server asked if it did. It returns false if there
// must be no other try: the time or the tries are used up, or ctx has ended.
func (b *Backoff) Wait(ctx context.Context, asked time.Duration) bool {
	if b.since.IsZero() {
		b.since = time.Now()
	}
	b.tries++
	pause := b.pause(asked)
	if b.Most > 0 && b.tries >= b.Most || time.Since(b.since)+pause > b.For {
		return false
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

func (b *Backoff) pause(asked time.Duration) time.Duration {
	n := b.tries - 1 - b.Free
	switch {
	case asked > 0:
		return min(asked, longestAsked)
	case n < 0:
		return 0
	}
	d := b.Longest
	if n < 20 {
		d = min(b.First<<n, b.Longest)
	}
	return d/2 + rand.N(d/2+1)
}
