package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A checkpoint is the states of one step, of all ranks or of some.
type checkpoint struct {
	states []savedState
	fault  string // states of another step belong to it
}

// checkpoints groups states by their step, in the order of the run.
func checkpoints(states []savedState) (all []checkpoint) {
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b savedState) int { return comparePlaces(a.state, b.state) })
	for _, s := range states {
		if last := len(all) - 1; last >= 0 && comparePlaces(all[last].states[0].state, s.state) == 0 {
			all[last].states = append(all[last].states, s)
			continue
		}
		all = append(all, checkpoint{states: []savedState{s}})
	}
	findMixed(all)
	return all
}

func comparePlaces(a, b shuffle.State) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Position, b.Position))
}

// findMixed notes the checkpoints whose missing ranks have states of an older step only: ranks save
// a checkpoint at the same step.
func findMixed(all []checkpoint) {
	older := map[int]savedState{} // by rank, of the incomplete checkpoints before
	for i := range all {
		p := &all[i]
		ranks := p.ranks()
		if len(ranks) >= p.world() {
			clear(older)
			continue
		}
		for rank, s := range older {
			if _, again := ranks[rank]; again || s.own().World != p.world() {
				clear(older)
				break
			}
		}
		if len(older) > 0 {
			p.fault = p.mixedWith(older[slices.Min(slices.Collect(maps.Keys(older)))])
		}
		maps.Copy(older, ranks)
	}
}

// mixedWith is the fault that the state of one of the ranks is older.
func (p checkpoint) mixedWith(older savedState) string {
	place := func(s savedState) string {
		return fmt.Sprintf("epoch %d, position %d in %s", s.state.Epoch, s.state.Position, s.name)
	}
	return fmt.Sprintf("rank %d of %d has only an older state than rank %d: %s, and %s; the states of a checkpoint must be of one step",
		older.own().Rank, p.world(), p.states[0].own().Rank, place(older), place(p.states[0]))
}

// ranks are the states by rank.
func (p checkpoint) ranks() map[int]savedState {
	all := map[int]savedState{}
	for _, s := range p.states {
		all[s.own().Rank] = s
	}
	return all
}

// world is the number of ranks of the run.
func (p checkpoint) world() (n int) {
	for _, s := range p.states {
		n = max(n, s.own().World)
	}
	return n
}

// records of all states; some more than once.
func (p checkpoint) records() (all []audit.Record) {
	for _, s := range p.states {
		all = append(all, s.records...)
	}
	return all
}

// epochs returns the epochs of the records, and the one that the states are in.
func (p checkpoint) epochs(records []audit.Record) (all []uint64) {
	for _, r := range records {
		all = append(all, r.Epoch)
	}
	if s := p.states[0].state; s.Position > 0 {
		all = append(all, s.Epoch)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// epoch describes an epoch up to the states. Under the tail carry it may start before position 0.
func (p checkpoint) epoch(number uint64, records []audit.Record) audit.Epoch {
	s := p.states[0].state
	e := audit.Epoch{Number: number, Rows: s.Rows}
	for _, r := range records {
		if r.Epoch == number {
			e.From, e.To = min(e.From, r.From), max(e.To, r.To)
		}
	}
	if number == s.Epoch {
		e.To = s.Position
	}
	return e
}

// left returns the end of an epoch before the states' if no rank came to it: the run left the epoch
// early. The tails drop and carry leave less than a step.
func (p checkpoint) left(e audit.Epoch) []audit.Unseen {
	s := p.states[0].state
	rows := e.Rows - e.To
	whole := s.KeptTail() == shuffle.Pad || s.KeptTail() == shuffle.Short
	if e.Number >= s.Epoch || rows <= 0 || !whole && rows < s.GlobalBatch {
		return nil
	}
	return []audit.Unseen{{From: e.To, To: e.Rows}}
}

// shown returns the reports of each epoch with faults, or else one that saw most rows.
func shown(reports []audit.Report) (all []audit.Report) {
	reports = slices.Clone(reports)
	slices.SortStableFunc(reports, func(a, b audit.Report) int { return cmp.Compare(a.Epoch, b.Epoch) })
	for _, r := range reports {
		last := len(all) - 1
		switch {
		case last < 0 || all[last].Epoch != r.Epoch:
			all = append(all, r)
		case len(r.Faults) == 0 && len(all[last].Faults) > 0: // the faults stay
		case len(all[last].Faults) == 0 && (len(r.Faults) > 0 || r.Rows+r.Lost >= all[last].Rows+all[last].Lost):
			all[last] = r
		case len(r.Faults) > 0 && r.String() != all[last].String():
			all = append(all, r)
		}
	}
	return all
}
