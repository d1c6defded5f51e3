package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// audits collect what the ranks of a data set handed out of its epochs, and compare it with the
// order. An epoch that ranks left early has no verdict.
type audits struct {
	mu       sync.Mutex
	open     map[auditKey]*openAudit
	verdicts map[int]*wire.Audited // by object, the last
	order    *iterable.Audit       // of the run
	run      shuffle.State
}

// An auditKey is an epoch of a data set object.
type auditKey struct {
	object int
	epoch  uint64
	world  int
}

// An openAudit has the records of the ranks that came to the end of the epoch.
type openAudit struct {
	came      map[int]*wire.Audit // by rank, the last that has its records
	begin, to int64
}

// again reports whether a rank comes again: its epoch was repeated.
func (o *openAudit) again(ranks []int) bool {
	return slices.ContainsFunc(ranks, func(rank int) bool { return o.came[rank] != nil })
}

// mostAudits bounds the epochs that wait for ranks, which may never come.
const mostAudits = 64

// records of all ranks that came.
func (o *openAudit) records() (all []audit.Record) {
	added := map[*wire.Audit]bool{} // one may be of several ranks
	for _, a := range o.came {
		if !added[a] {
			added[a] = true
			all = append(all, a.Records...)
		}
	}
	return all
}

// opened starts the audit of an epoch.
func (s *audits) opened(key auditKey, begin int64) *openAudit {
	if s.open == nil {
		s.open = map[auditKey]*openAudit{}
	}
	if len(s.open) >= mostAudits { // the oldest epoch goes
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.open)), func(a, b auditKey) int { return cmp.Compare(a.epoch, b.epoch) })
		delete(s.open, oldest)
	}
	o := &openAudit{came: map[int]*wire.Audit{}, begin: begin}
	s.open[key] = o
	return o
}

// prepare computes in advance what the comparison with an order needs, until ctx ends. It does
// nothing for the order of the last comparison.
func (s *audits) prepare(ctx context.Context, d *iterable.Dataset, state shuffle.State) {
	s.mu.Lock()
	before := s.order
	order, err := s.orderOf(d, state)
	s.mu.Unlock()
	if err == nil && order != before { // else the comparison has the error too
		order.Prepare(ctx)
	}
}

func (s *audits) last(object int) *wire.Audited {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verdicts[object]
}

// add returns a verdict when all local ranks, which are on this node, or all of the world have
// come, and what they brought. A rank may bring the records of ranks on other nodes.
func (s *audits) add(d *iterable.Dataset, noun string, a wire.Audit, world, local int) (*wire.Audited, *wire.Audit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := auditKey{a.Object, a.Epoch, world}
	o := s.open[key]
	if o == nil || o.again(a.Ranks) {
		o = s.opened(key, a.Begin)
	}
	for _, rank := range a.Ranks {
		o.came[rank] = &a
	}
	o.begin, o.to = min(o.begin, a.Begin), max(o.to, a.To)
	if n := len(o.came); n < min(local, world) {
		return nil, nil, nil
	}
	here := a
	here.Begin, here.To, here.Ranks, here.Records = o.begin, o.to, slices.Sorted(maps.Keys(o.came)), o.records()
	v, err := s.verdict(d, noun, here, world)
	if err != nil {
		return nil, nil, err
	}
	if len(o.came) == world {
		delete(s.open, key)
	}
	return v, &here, nil
}

// verdict compares the records of ranks with the order.
func (s *audits) verdict(d *iterable.Dataset, noun string, a wire.Audit, world int) (*wire.Audited, error) {
	e := audit.Epoch{Number: a.Epoch, Rows: a.State.Rows, From: a.Begin, To: a.To, Due: func(from, to int64) (uint64, error) {
		order, err := s.orderOf(d, a.State)
		if err != nil {
			return 0, err
		}
		return order.Due(a.Epoch, from, to), nil
	}}
	r, err := audit.Check(e, a.Records)
	if err != nil {
		return nil, err
	}
	v := &wire.Audited{
		Epoch: a.Epoch, Ranks: len(a.Ranks), Of: world, Proved: r.Proved(), Rows: r.Rows, Lost: r.Lost, Padded: r.Padded, Worlds: r.Worlds,
		Faults: r.Faults, Text: r.Text(noun),
	}
	for _, u := range r.Unseen {
		v.NotSeen = append(v.NotSeen, u.String())
	}
	if s.verdicts == nil {
		s.verdicts = map[int]*wire.Audited{}
	}
	s.verdicts[a.Object] = v
	return v, nil
}

// orderOf returns the order of a state. Only the position differs during a run, unless sources get
// other weights.
func (s *audits) orderOf(d *iterable.Dataset, state shuffle.State) (*iterable.Audit, error) {
	state.Epoch, state.Position, state.GlobalBatch = 0, 0, max(1, state.GlobalBatch)
	if s.order == nil || string(s.run.JSON()) != string(state.JSON()) {
		order, err := d.Audit(state)
		if err != nil {
			return nil, err
		}
		s.order, s.run = order, state
	}
	return s.order, nil
}
