package checkpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Checkpoint is the states of one step, of all ranks or of some.
type Checkpoint struct {
	States []State
	Fault  string // states of another step belong to it
}

// Of groups states by their step, in the order of the run.
func Of(states []State) (all []Checkpoint) {
	states = slices.Clone(states)
	slices.SortStableFunc(states, func(a, b State) int { return comparePlaces(a.State, b.State) })
	for _, s := range states {
		if last := len(all) - 1; last >= 0 && comparePlaces(all[last].States[0].State, s.State) == 0 {
			all[last].States = append(all[last].States, s)
			continue
		}
		all = append(all, Checkpoint{States: []State{s}})
	}
	findMixed(all)
	return all
}

func comparePlaces(a, b shuffle.State) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Position, b.Position))
}

// findMixed notes the checkpoints whose missing ranks have states of an older step only: ranks save
// a checkpoint at the same step.
func findMixed(all []Checkpoint) {
	older := map[int]State{} // by rank, of the incomplete checkpoints before
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
			p.Fault = p.mixedWith(older[slices.Min(slices.Collect(maps.Keys(older)))])
		}
		maps.Copy(older, ranks)
	}
}

// mixedWith is the fault that the state of one of the ranks is older.
func (p Checkpoint) mixedWith(older State) string {
	place := func(s State) string {
		return fmt.Sprintf("epoch %d, position %d in %s", s.State.Epoch, s.State.Position, s.Name)
	}
	return fmt.Sprintf("rank %d of %d has only an older state than rank %d: %s, and %s; the states of a checkpoint must be of one step",
		older.own().Rank, p.world(), p.States[0].own().Rank, place(older), place(p.States[0]))
}

// ranks are the states by rank.
func (p Checkpoint) ranks() map[int]State {
	all := map[int]State{}
	for _, s := range p.States {
		all[s.own().Rank] = s
	}
	return all
}

// world is the number of ranks of the run.
func (p Checkpoint) world() (n int) {
	for _, s := range p.States {
		n = max(n, s.own().World)
	}
	return n
}

// Records of all states; some more than once.
func (p Checkpoint) Records() (all []audit.Record) {
	for _, s := range p.States {
		all = append(all, s.Records...)
	}
	return all
}

// Epochs returns the epochs of the records, and the one that the states are in.
func (p Checkpoint) Epochs(records []audit.Record) (all []uint64) {
	for _, r := range records {
		all = append(all, r.Epoch)
	}
	if s := p.States[0].State; s.Position > 0 {
		all = append(all, s.Epoch)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Epoch describes an epoch up to the states. Under the tail carry it may start before position 0.
func (p Checkpoint) Epoch(number uint64, records []audit.Record) audit.Epoch {
	s := p.States[0].State
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

// Left returns the end of an epoch before the states' if no rank came to it: the run left the epoch
// early. The tails drop and carry leave less than a step.
func (p Checkpoint) Left(e audit.Epoch) []audit.Unseen {
	s := p.States[0].State
	rows := e.Rows - e.To
	whole := s.KeptTail() == shuffle.Pad || s.KeptTail() == shuffle.Short
	if e.Number >= s.Epoch || rows <= 0 || !whole && rows < s.GlobalBatch {
		return nil
	}
	return []audit.Unseen{{From: e.To, To: e.Rows}}
}

// Shown returns the reports of each epoch with faults, or else one that saw most rows.
func Shown(reports []audit.Report) (all []audit.Report) {
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
