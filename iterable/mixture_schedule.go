package iterable

import "container/heap"

// mixedSchedule merges the loads of the sources of a mixture by the sample at which each must be
// there.
type mixedSchedule struct {
	heads minHeap[*mixedHead]
}

// A mixedHead is the next load of a source.
type mixedHead struct {
	schedule schedule
	source   int
	load     *load
}

func (x *mixed) schedule() schedule {
	s := &mixedSchedule{heads: minHeap[*mixedHead]{less: func(a, b *mixedHead) bool {
		return a.load.need < b.load.need || a.load.need == b.load.need && a.source < b.source
	}}}
	for i, m := range x.sources {
		h := &mixedHead{source: i, schedule: m.schedule()}
		if h.advance() {
			s.heads.items = append(s.heads.items, h)
		}
	}
	heap.Init(&s.heads)
	return s
}

// schedule lists the loads of a source.
func (m *mixedSource) schedule() schedule {
	if m.kept != nil {
		return &keptSchedule{kept: m.kept}
	}
	return newLaneSchedule(m.epochs, m.sizes)
}

// advance moves to the next load; false at the end.
func (h *mixedHead) advance() (ok bool) {
	h.load, ok = h.schedule.next()
	return ok
}

func (s *mixedSchedule) next() (*load, bool) {
	if s.heads.Len() == 0 {
		return nil, false
	}
	h := s.heads.items[0]
	l := h.load
	if h.advance() {
		heap.Fix(&s.heads, 0)
	} else {
		heap.Pop(&s.heads)
	}
	return l, true
}
