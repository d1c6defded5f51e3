package driver

import (
	"fmt"
	"sync"
	"time"
)

// DefaultRetryFor is how long a server may be out of reach, while it restarts or fails over.
const DefaultRetryFor = time.Minute

const (
	noteAfter = time.Second      // of waiting
	noteEvery = 30 * time.Second // at most, whatever the number of reads that wait
)

// An Outage reports to the user that requests wait for a server, once for all of them. It is safe
// for concurrent use.
type Outage struct {
	Note func(text string) // may be nil

	mu   sync.Mutex
	last time.Time
}

// Waiting is called before each pause of a Backoff.
func (o *Outage) Waiting(server string, b *Backoff, err error) {
	if o.Note == nil || b.since.IsZero() || time.Since(b.since) < noteAfter {
		return
	}
	o.mu.Lock()
	again := time.Since(o.last) < noteEvery
	if !again {
		o.last = time.Now()
	}
	o.mu.Unlock()
	if !again {
		left := (b.For - time.Since(b.since)).Round(time.Second)
		o.Note(fmt.Sprintf("%s does not answer, trying again for %v: %v", server, max(left, 0), err))
	}
}
