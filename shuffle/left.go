package shuffle

// A Part is samples [Lo, Hi) of a unit, numbered in the order in which they are emitted: the s-th
// sample that a span emits has the number From + s.
type Part struct {
	Unit   int
	Lo, Hi int64
}

// Left calls yield with the parts of units that the epoch emits from position pos on.
func (e *Epoch) Left(pos int64, yield func(Part)) {
	for slot := range e.plan.params.Lanes {
		e.leftOf(slot, e.RowsBefore(pos, slot), yield)
	}
}

// leftOf calls yield with the parts of units that the lane at a slot emits after its first rows.
func (e *Epoch) leftOf(slot int, rows int64, yield func(Part)) {
	for _, s := range e.Lane(slot).left(rows) {
		yield(Part{Unit: int(s.unit), Lo: int64(s.lo + s.first), Hi: int64(s.lo + s.last)})
	}
}

// Left calls yield with the parts of units from position pos on.
func (s *Sequence) Left(pos int64, yield func(Part)) {
	s.Spans(pos, s.Rows(), func(sp Span) { yield(Part{Unit: sp.Unit, Lo: sp.From, Hi: sp.To}) })
}

// Left calls yield with what the pass over each source that is in progress at sample x emits from x
// on, all of a pass that is next. Under PerSource x must be at a whole step.
func (m *Mixture) Left(x int64, yield func(source int, p Part)) {
	if m.unset != nil && x < m.setAt {
		m.unset.Left(x, yield)
		return
	}
	for d, n := range m.Counts(x, nil) {
		if m.sources[d].Plan.Rows() == 0 {
			continue
		}
		pass := m.Pass(d, uint64(n/m.sources[d].Plan.Rows()))
		for slot, first := range pass.First {
			done := rowsBefore(n, slot, len(pass.First))
			if m.options.Batching != PerSource {
				done = m.Lane(slot).Count(d, rowsBefore(x, slot, m.lanes))
			}
			pass.leftOf(slot, done-first, func(p Part) { yield(d, p) })
		}
	}
}
