package iterable

import (
	"maps"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/shuffle"
)

// laneEpochs makes the lanes that a stream reads of each epoch, once for the schedule and the walk.
// It is safe for concurrent use.
type laneEpochs struct {
	plan  *shuffle.Plan
	view  *shuffle.View
	start stepper
	of    *mixedSource // nil in a plain data set; else epochs are passes over the source

	mu   sync.Mutex
	made map[uint64]*laneEpoch
}

// A laneEpoch is one epoch as a stream reads it. It is immutable.
type laneEpoch struct {
	*shuffle.Epoch
	plan  *shuffle.Plan
	of    *mixedSource // nil in a plain data set
	first []int64      // of a source: by slot, its samples in the lane before the pass
	read  stretch
	lanes []*shuffle.Lane // by slot; nil for lanes that others read
	slots []int           // of lanes that are not nil
}

func (l *laneEpochs) at(epoch uint64) *laneEpoch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.made[epoch]; e != nil {
		return e
	}
	e := &laneEpoch{plan: l.plan, of: l.of, lanes: make([]*shuffle.Lane, l.plan.Params().Lanes)}
	if l.of != nil {
		pass := l.of.mixed.mixture.Pass(l.of.number, epoch)
		e.Epoch, e.first = pass.Epoch, pass.First
		e.read.to, e.slots = l.of.mixed.to, l.of.slots
	} else {
		e.Epoch, e.read = l.plan.Epoch(epoch), l.start.stretch(epoch)
		e.slots = l.slots(e)
	}
	for _, s := range e.slots {
		e.lanes[s] = e.Lane(s)
	}
	l.made[epoch] = e
	return e
}

// slots of the lanes that the stream reads in an epoch. Under Carry a step may reach from one epoch
// into the next.
func (l *laneEpochs) slots(e *laneEpoch) []int {
	g, to := l.start.GlobalBatch, e.read.to
	if l.start.Tail == shuffle.Carry {
		to += g
	}
	slots := l.view.Slots(e.Epoch, e.read.first, max(to, e.read.first), g)
	if e.read.from == e.read.first {
		return slots
	}
	// How a step is divided repeats with its position modulo the lanes, so the step that began in
	// an epoch before is moved to a position that is not negative.
	pos, lanes := e.read.first-g, int64(len(e.lanes))
	for pos < 0 {
		pos += lanes * max(1, -pos/lanes)
	}
	for _, s := range l.view.Slots(e.Epoch, pos, pos+g, g) {
		if !slices.Contains(slots, s) {
			slots = append(slots, s)
		}
	}
	return slots
}

// forget drops the epochs before one.
func (l *laneEpochs) forget(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.made, func(n uint64, _ *laneEpoch) bool { return n < before })
}

// over reports whether the stream ends before an epoch.
func (l *laneEpochs) over(epoch uint64) bool {
	if l.of != nil {
		return l.of.over(epoch)
	}
	return l.start.end > 0 && epoch >= l.start.end || l.start.Rows == 0
}

// source is the number of the source in keys.
func (l *laneEpochs) source() int32 {
	if l.of == nil {
		return 0
	}
	return int32(l.of.number)
}

// tick is about the positions over which a tick of all lanes leaves.
func (l *laneEpochs) tick() int64 {
	if l.of != nil {
		return l.of.tick()
	}
	p := l.plan.Params()
	return int64(p.Lanes) * p.Quantum
}

// begins returns the row of a slot's lane at which the stream starts.
func (e *laneEpoch) begins(slot int) int64 {
	if e.of != nil {
		return e.of.begins(e, slot)
	}
	return e.RowsBefore(e.read.from, slot)
}

// position of a row of the lane at a slot: the inverse of Epoch.RowsBefore. In a mixture it is the
// sample of that.
func (e *laneEpoch) position(slot int, row int64) int64 {
	if e.of != nil {
		return e.of.position(e, slot, row)
	}
	lanes := int64(e.plan.Params().Lanes)
	first := (int64(slot) - e.Offset()%lanes + lanes) % lanes
	return first + row*lanes
}
