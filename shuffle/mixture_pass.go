package shuffle

// A Pass is an epoch of a source's plan as a mixture reads it, starting at sample e*N_d of the
// source. Each lane has as many of its rows as the mixture's lane has samples of the source, so
// that the pass ends in all lanes at the same sample.
type Pass struct {
	*Epoch
	First []int64 // by slot: samples of the source in the mixture's lane before the pass's lane
}

// Pass returns pass e over a source: all of it, or its rest if weights were set within.
func (m *Mixture) Pass(source int, e uint64) Pass {
	p := m.sources[source].Plan
	if m.options.Batching == PerSource {
		return m.wholePass(p, e)
	}
	if m.unset != nil {
		switch done := m.all.Count(source, m.setAt); {
		case e < uint64(done/p.Rows()):
			return m.unset.Pass(source, e)
		case e == uint64(done/p.Rows()) && done%p.Rows() > 0:
			return m.restOf(m.unset.Pass(source, e), source, p.Rows()-done%p.Rows())
		}
	}
	first := m.before(source, m.PassBegins(source, e))
	return Pass{Epoch: p.epochOf(e, m.rowsTo(source, e, first, p.Rows())), First: first}
}

// restOf returns the rest of a pass after the mixture's samples before the last set weights.
func (m *Mixture) restOf(pass Pass, source int, left int64) Pass {
	first := m.before(source, m.setAt)
	done := make([]int64, len(first))
	for slot := range done {
		done[slot] = first[slot] - pass.First[slot]
	}
	return Pass{Epoch: pass.rest(done, m.rowsTo(source, pass.number, first, left)), First: first}
}

// wholePass returns an epoch with the lanes of the plan under Carry.
func (m *Mixture) wholePass(p *Plan, e uint64) Pass {
	pass := Pass{Epoch: p.Epoch(e), First: make([]int64, p.params.Lanes)}
	for slot := range pass.First {
		pass.First[slot] = rowsBefore(int64(e)*p.Rows(), slot, p.params.Lanes)
	}
	return pass
}

// PassBegins returns the first sample of the mixture that belongs to pass e over a source or to a
// later one, or [Never].
func (m *Mixture) PassBegins(source int, e uint64) int64 {
	q := capped(mulAddDiv(e, uint64(m.sources[source].Plan.Rows()), 0, 1))
	if q == Never {
		return Never
	}
	if g := m.options.GlobalBatch; m.options.Batching == PerSource {
		step := m.all.Row(source, int64(q)/g)
		if step >= Never/g-1 {
			return Never
		}
		return step*g + int64(q)%g
	}
	return m.all.Row(source, int64(q))
}

// PassAt returns the pass that the next sample of a source belongs to at sample x of the mixture.
// Under PerSource x must be at a whole step.
func (m *Mixture) PassAt(source int, x int64) uint64 {
	return uint64(m.Counts(x, nil)[source] / m.sources[source].Plan.Rows())
}

// before counts the samples of a source in each lane of the mixture before sample x.
func (m *Mixture) before(source int, x int64) []int64 {
	n := make([]int64, m.lanes)
	for slot := range n {
		n[slot] = m.Lane(slot).Count(source, rowsBefore(x, slot, m.lanes))
	}
	return n
}

// rowsTo returns how many of the remaining rows of a pass each lane has after its first ones. The
// rows of a pass that never come are divided equally.
func (m *Mixture) rowsTo(source int, e uint64, first []int64, left int64) []int64 {
	end := m.PassBegins(source, e+1)
	rows := m.before(source, min(end, m.parts[len(m.parts)-1].from))
	if end < Never {
		rows = m.before(source, end)
	}
	for slot := range rows {
		rows[slot] -= first[slot]
		left -= rows[slot]
	}
	for slot := range rows {
		rows[slot] += rowsBefore(left, slot, m.lanes)
	}
	return rows
}
