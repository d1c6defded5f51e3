package iterable

import "sync"

// lentInRow is after how many loads in a row that were lent a stream reads as from a disk.
const lentInRow = 8

// A flight counts the loads that are admitted and not ready, and bounds them: to what hides a
// network's latency as long as loads come over one, and to a disk's few when they are lent, as
// local files and what a cache holds are. What is lent early is cold when it is decoded.
type flight struct {
	narrow, wide int

	mu    sync.Mutex
	loads int
	lent  int // loads in a row
}

// newFlight bounds a stream that begins; it takes its shards for local until the first load tells.
func newFlight(fetchers, decoders int) flight {
	return flight{narrow: min(fetchers, localFetchers) + decoders, wide: fetchers + decoders, lent: lentInRow}
}

// room reports whether one more load may start.
func (f *flight) room() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lent >= lentInRow {
		return f.loads < f.narrow
	}
	return f.loads < f.wide
}

// start counts a load, until it lands.
func (f *flight) start(l *load) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loads++
	l.flying = true
}

// land ends the count of a load that started.
func (f *flight) land(l *load) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.flying {
		f.loads--
		l.flying = false
	}
}

// learn notes for each load whether all its bytes were lent.
func (f *flight) learn(lent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lent {
		f.lent++
	} else {
		f.lent = 0
	}
}
