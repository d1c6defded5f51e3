package iterable

import (
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Reads lists the units that the streams of some of so many ranks read in all epochs: of each
// source, in file order, as rows of its manifest's shards. The order is shuffled; in file order every
// rank reads nearly all units.
func (d *Dataset) Reads(ranks []int, worldSize int, o StreamOptions) ([][]rowgroup.Rows, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	o = o.withDefaults(d)
	start, err := d.begin(worldSize, o)
	if err != nil {
		return nil, err
	}
	r, err := d.orderOf(worldSize, o, 0, d.options.Memory)
	if err != nil {
		return nil, err
	}
	if r.files != nil {
		return nil, errors.New("in file order every rank reads nearly all units")
	}
	plans := []*shuffle.Plan{r.plan}
	if r.mixture != nil {
		plans = nil
		for _, s := range r.mixture.Sources() {
			plans = append(plans, s.Plan)
		}
	}
	read := make([]unitSet, len(plans))
	for i, p := range plans {
		read[i] = unitSet{plan: p, lanes: map[int]bool{}}
	}
	for _, rank := range ranks {
		if err := d.addReads(read, r, shuffle.Worker{Rank: rank, WorldSize: worldSize}, start); err != nil {
			return nil, err
		}
	}
	all := make([][]rowgroup.Rows, len(plans))
	for i, s := range d.sources {
		all[i] = s.rowsOfUnits(read[i].units())
	}
	return all, nil
}

// addReads adds the lanes of a rank.
func (d *Dataset) addReads(read []unitSet, r order, w shuffle.Worker, start stepper) error {
	if r.mixture != nil {
		x, err := d.newMixed(r.mixture, w, start)
		if err != nil {
			return err
		}
		for i, m := range x.sources {
			read[i].add(m.slots)
		}
		return nil
	}
	v, err := r.plan.View(w)
	if err != nil {
		return err
	}
	if v.Exclusive() {
		read[0].add(v.StepSlots(start.GlobalBatch))
		return nil
	}
	last := start.Rows % start.GlobalBatch
	if start.Rows < start.GlobalBatch {
		last = start.Rows
	}
	read[0].add(v.Reads(start.GlobalBatch, last))
	return nil
}

// A unitSet is the units of some lanes of a plan.
type unitSet struct {
	plan  *shuffle.Plan
	lanes map[int]bool // by slot
}

func (s *unitSet) add(slots []int) {
	for _, slot := range slots {
		s.lanes[slot] = true
	}
}

// mostOffsets bounds the epochs whose lanes are looked at, where they differ by the rows that the
// tail carries over.
const mostOffsets = 64

// units lists what the lanes read over all epochs, in file order.
func (s *unitSet) units() (all []shuffle.Unit) {
	p, units := s.plan.Params(), s.plan.Units()
	if p.Assign == shuffle.PerEpoch { // some epoch brings any of them
		return units.List()
	}
	epochs := 1
	if p.Tail == shuffle.Carry {
		epochs = min(p.Lanes, mostOffsets)
	}
	read := make([]bool, units.Len())
	for n := range epochs {
		e := s.plan.Epoch(uint64(n))
		for slot := range s.lanes {
			lane := e.Lane(slot)
			for j := range lane.Spans() {
				read[lane.Span(j).Unit] = true
			}
		}
	}
	for i, u := range units.All() {
		if read[i] {
			all = append(all, u)
		}
	}
	return all
}

// rowsOfUnits are the rows of units, those of neighbours as one.
func (d *source) rowsOfUnits(units []shuffle.Unit) (all []rowgroup.Rows) {
	for i, u := range units {
		if i > 0 && units[i-1].Group == u.Group && units[i-1].Hi == u.Lo {
			all[len(all)-1].Hi = u.Hi
			continue
		}
		all = append(all, d.rowsOf(u.Group, u.Lo, u.Hi))
	}
	return all
}
