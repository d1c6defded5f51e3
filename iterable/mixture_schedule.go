package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/minheap"
)

// mixedSchedule merges the loads of the sources of a mixture by the sample at which each must be
// there.
type mixedSchedule struct {
	rows  uint64 // of an epoch
	heads *minheap.Heap[*mixedHead]
}

// A mixedHead is the next load of a source.
type mixedHead struct {
	schedule ahead.Schedule
	source   int
	load     *ahead.Load
}

func (x *mixed) schedule() ahead.Schedule {
	s := &mixedSchedule{rows: uint64(max(1, x.start.Rows)), heads: minheap.New(func(a, b *mixedHead) bool {
		return a.load.Need < b.load.Need || a.load.Need == b.load.Need && a.source < b.source
	})}
	for i, m := range x.sources {
		h := &mixedHead{source: i, schedule: m.schedule()}
		if h.advance() {
			s.heads.Push(h)
		}
	}
	return s
}

// schedule lists the loads of a source.
func (m *mixedSource) schedule() ahead.Schedule {
	if m.kept != nil {
		return &keptSchedule{kept: m.kept}
	}
	return newLaneSchedule(m.epochs, m.sizes)
}

// advance moves to the next load; false at the end.
func (h *mixedHead) advance() (ok bool) {
	h.load, ok = h.schedule.Next()
	return ok
}

func (s *mixedSchedule) Next() (*ahead.Load, bool) {
	if s.heads.Len() == 0 {
		return nil, false
	}
	h := s.heads.First()
	l := h.load
	l.Epoch = uint64(l.Need) / s.rows
	if h.advance() {
		s.heads.Fix()
	} else {
		s.heads.Pop()
	}
	return l, true
}
