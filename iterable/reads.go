package iterable

import (
	"fmt"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Reads lists the units that the streams of some ranks read in all epochs: of each
// source, in file order, as rows of its manifest's shards. The order is shuffled; in file order
// every rank reads nearly all units.
func (d *Dataset) Reads(ranks []int, worldSize int, o StreamOptions) ([][]rowgroup.Rows, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	o = o.withDefaults(d)
	start, r, err := d.started(worldSize, o)
	if err != nil {
		return nil, err
	}
	read := make([]unitSet, len(d.sources))
	for _, rank := range ranks {
		reads, err := r.reads(shuffle.Worker{Rank: rank, WorldSize: worldSize}, start)
		if err != nil {
			return nil, err
		}
		for i, p := range reads {
			read[i].add(p)
		}
	}
	all := make([][]rowgroup.Rows, len(read))
	for i, s := range d.sources {
		all[i] = s.rowsOfUnits(read[i].units())
	}
	return all, nil
}

// A unitSet is the units of some lanes of a plan.
type unitSet struct {
	planReads
	lanes map[int]bool // by slot
}

func (s *unitSet) add(of planReads) {
	if s.lanes == nil {
		s.planReads, s.lanes = of, map[int]bool{}
	}
	for _, slot := range of.slots {
		s.lanes[slot] = true
	}
}

// units lists what the lanes read over all epochs, in file order.
func (s *unitSet) units() (all []shuffle.Unit) {
	units := s.plan.Units()
	if s.plan.Params().Assign == shuffle.PerEpoch { // some epoch brings any of them
		return units.List()
	}
	read := make([]bool, units.Len())
	for n := range s.epochs {
		e := s.epoch(uint64(n))
		for slot := range s.lanes {
			lane := e.Lane(slot)
			for j := range lane.Spans() {
				read[lane.Span(j).Unit] = true
			}
		}
	}
	if s.kept {
		for _, u := range laterUnits(s.plan, read) {
			read[u] = true
		}
	}
	for i, u := range units.All() {
		if read[i] {
			all = append(all, u)
		}
	}
	return all
}

// rowsOfUnits returns the rows of units, merging neighbours.
func (d *source) rowsOfUnits(units []shuffle.Unit) (all []rowgroup.Rows) {
	for i, u := range units {
		if i > 0 && units[i-1].Group == u.Group && units[i-1].Hi == u.Lo {
			all[len(all)-1].Hi = u.Hi
			continue
		}
		all = append(all, d.reading.RowsOf(u.Group, u.Lo, u.Hi))
	}
	return all
}
