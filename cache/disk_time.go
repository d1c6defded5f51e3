package cache

import (
	"sync"
	"time"
)

// A diskTime measures how busy the disk is with one kind of work. The zero value is ready.
type diskTime struct {
	mu    sync.Mutex
	users int
	since time.Time // when users was last 0
	busy  time.Duration
	bytes int64
}

func (d *diskTime) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users++; d.users == 1 {
		d.since = time.Now()
	}
}

// end ends what start started, with the bytes that were moved.
func (d *diskTime) end(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes += n
	if d.users--; d.users == 0 {
		d.busy += time.Since(d.since)
	}
}

// sofar returns the bytes that were moved, and the seconds in which any were on their way.
func (d *diskTime) sofar() (bytes int64, seconds float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	busy := d.busy
	if d.users > 0 {
		busy += time.Since(d.since)
	}
	return d.bytes, busy.Seconds()
}
