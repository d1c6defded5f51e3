package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// A step is rows [pos, pos+rows) of an epoch, over all ranks; under Carry its last rows may be the
// next epoch's first.
type step struct {
	epoch     uint64
	pos, rows int64
}

// stepper lists the steps of some epochs. It is a value: a copy continues on its own.
type stepper struct {
	shuffle.Steps
	epoch uint64 // of the next step
	pos   int64
	end   uint64 // the epoch after the last; 0 for no end
}

// next returns the next step; false after the last epoch's last.
func (t *stepper) next() (step, bool) {
	if t.Rows == 0 {
		return step{}, false
	}
	t.epoch, t.pos = t.Normalize(t.epoch, t.pos)
	rows := min(t.GlobalBatch, t.Rows-t.pos)
	if t.Tail == shuffle.Carry {
		rows = t.GlobalBatch
	}
	if t.over(rows) {
		return step{}, false
	}
	s := step{epoch: t.epoch, pos: t.pos, rows: rows}
	t.pos += rows
	t.epoch, t.pos = t.Normalize(t.epoch, t.pos)
	return s, true
}

// over reports whether a step of n rows exceeds the epochs. Under Carry it may reach over
// several of them, when they are shorter than it.
func (t *stepper) over(rows int64) bool {
	if t.end == 0 {
		return false
	}
	if t.epoch >= t.end {
		return true
	}
	further := min(int64(t.end-t.epoch)-1, (t.pos+rows)/t.Rows) // epochs after the step's that it may take rows of
	return t.pos+rows > (further+1)*t.Rows
}

// ends reports whether no epoch from one on has rows of a stream whose last rows are of an epoch
// before, or of the start: all whole epochs are divided alike, except under Carry.
func (t *stepper) ends(epoch, last uint64) bool {
	return t.Tail != shuffle.Carry && epoch > last+1
}

// A stretch is the part of an epoch that a stream's steps take: positions [from, to), the first
// step that starts in the epoch doing so at first.
type stretch struct {
	from, first, to int64
}

// stretch returns the part of an epoch, at or after the stepper's own, that its steps take.
func (t stepper) stretch(epoch uint64) stretch {
	t.epoch, t.pos = t.Normalize(t.epoch, t.pos)
	first := t.pos
	for e := t.epoch; e < epoch; e++ {
		first = t.firstStep(first)
	}
	s := stretch{from: first, first: first, to: t.Rows}
	if epoch > t.epoch {
		s.from = 0 // under Carry a step of the epoch before may take rows from 0 on
	}
	if last := t.end > 0 && epoch == t.end-1; t.Tail == shuffle.Drop || t.Tail == shuffle.Carry && last {
		s.to = min(first+t.Count(first)*t.GlobalBatch, t.Rows)
	}
	return s
}

// firstStep returns where the first step of the next epoch starts, when the first of this one
// starts at first.
func (t stepper) firstStep(first int64) int64 {
	next := t.Next(first)
	if next < 0 {
		next += t.GlobalBatch
	}
	return next
}
