package ahead

import "sync/atomic"

// lentInRow is after how many loads in a row that were lent a stream reads as from a disk.
const lentInRow = 8

// A throttle bounds the loads that are admitted and not ready: to what hides a network's latency as
// long as loads come over one, and to a disk's few when they are lent, as local files and what a
// cache holds are. What is lent early is cold when it is decoded.
type throttle struct {
	narrow, wide int64

	loads atomic.Int64
	lent  atomic.Int64 // loads in a row
}

// setLimits assumes local shards until the first load arrives.
func (t *throttle) setLimits(fetchers, decoders int) {
	t.narrow, t.wide = int64(min(fetchers, localFetchers)+decoders), int64(fetchers+decoders)
	t.lent.Store(lentInRow)
}

// room reports whether one more load may start.
func (t *throttle) room() bool {
	if t.lent.Load() >= lentInRow {
		return t.loads.Load() < t.narrow
	}
	return t.loads.Load() < t.wide
}

// start counts a load, until it lands.
func (t *throttle) start(l *Load) {
	t.loads.Add(1)
	l.flying = true
}

// land ends the count of a load that started.
func (t *throttle) land(l *Load) {
	if l.flying {
		t.loads.Add(-1)
		l.flying = false
	}
}

// learn notes for each load whether all its bytes were lent.
func (t *throttle) learn(lent bool) {
	if lent {
		t.lent.Add(1)
	} else {
		t.lent.Store(0)
	}
}
