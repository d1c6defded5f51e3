package audit

import (
	"fmt"
	"slices"
)

// An Epoch describes an epoch by its order.
type Epoch struct {
	Number   uint64
	Rows     int64 // of the whole epoch
	From, To int64 // the positions that its steps take; under the tail carry To may be beyond Rows

	// Due returns the sum of the hashes of positions [from, to). nil: sums are not compared.
	Due func(from, to int64) (uint64, error)
}

// A Report is the verdict on an epoch.
type Report struct {
	Epoch  uint64
	Of     int64 // rows of the epoch
	Rows   int64 // delivered by the segments that are complete
	Lost   int64
	Padded int64
	Worlds []int    // that read it, in the order of their positions
	Unseen []Unseen // no verdict on these
	Faults []string // nil: all records are right
}

// Unseen is a part of an epoch of which records are missing.
type Unseen struct {
	From, To int64
	World    int // 0 if no rank has a record
	Ranks    int // that have one
}

// Proved reports whether each row of the epoch arrived exactly once, or is known as lost.
func (r *Report) Proved() bool { return len(r.Faults) == 0 && len(r.Unseen) == 0 }

// A segment is the records of one world with the same positions.
type segment struct {
	world    int
	from, to int64
	records  []Record // by rank
}

// Check compares the records of an epoch with its order. Records of other epochs do not count. It
// fails only if Epoch.Due does.
func Check(e Epoch, records []Record) (Report, error) {
	r := Report{Epoch: e.Number, Of: e.Rows}
	segments := r.segments(e.Number, records)
	r.chain(e, segments)
	for _, s := range segments {
		if len(r.Worlds) == 0 || r.Worlds[len(r.Worlds)-1] != s.world {
			r.Worlds = append(r.Worlds, s.world)
		}
		if err := r.compare(e, s); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Report) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}

// segments groups the records of an epoch, each once, by ascending position.
func (r *Report) segments(epoch uint64, records []Record) (all []*segment) {
	own := slices.DeleteFunc(slices.Clone(records), func(x Record) bool { return x.Epoch != epoch || x.From == x.To })
	slices.SortFunc(own, compare)
	for _, x := range slices.Compact(own) {
		last := len(all) - 1
		if last < 0 || all[last].world != x.World || all[last].from != x.From || all[last].to != x.To {
			all = append(all, &segment{world: x.World, from: x.From, to: x.To})
			last++
		}
		s := all[last]
		if n := len(s.records); n > 0 && s.records[n-1].Rank == x.Rank {
			r.fault("rank %d of %d has two records of positions %s to %s that differ", x.Rank, x.World, number(x.From), number(x.To))
			continue
		}
		if n := len(s.records); n > 0 && s.records[n-1].Cuts != x.Cuts {
			r.fault("rank %d and rank %d of %d resumed at different positions between %s and %s", s.records[n-1].Rank, x.Rank, x.World, number(x.From), number(x.To))
		}
		s.records = append(s.records, x)
	}
	return absorbed(all)
}

// absorbed leaves out segments within one that was joined: their ranks joined other runs, since
// they loaded states of other ranks, and have no verdict there.
func absorbed(all []*segment) []*segment {
	return slices.DeleteFunc(slices.Clone(all), func(s *segment) bool {
		return slices.ContainsFunc(all, func(j *segment) bool {
			return j != s && j.joined() && j.world == s.world && j.from <= s.from && s.to <= j.to
		})
	})
}

// joined reports whether the segment is of several runs.
func (s *segment) joined() bool {
	return slices.ContainsFunc(s.records, func(x Record) bool { return x.Cuts != 0 })
}

// chain checks that the segments follow each other.
func (r *Report) chain(e Epoch, all []*segment) {
	at := e.From
	for i, s := range all {
		switch {
		case i == 0 && s.from > at:
			r.Unseen = append(r.Unseen, Unseen{From: at, To: s.from})
		case s.from > at:
			r.fault("%s: no rank handed out positions %s to %s", s, number(at), number(s.from))
		case s.from < at:
			r.overlap(all[:i], s)
		}
		at = max(at, s.to)
	}
	switch {
	case len(all) == 0 && at < e.To:
		r.Unseen = append(r.Unseen, Unseen{From: at, To: e.To})
	case at < e.To:
		r.fault("no rank handed out positions %s to %s", number(at), number(e.To))
	case at > e.To && len(all) > 0:
		r.fault("positions %s to %s are beyond the epoch", number(e.To), number(at))
	}
}

// overlap names two segments with rows in common.
func (r *Report) overlap(before []*segment, s *segment) {
	for _, o := range before {
		if from, to := max(o.from, s.from), min(o.to, s.to); from < to {
			r.fault("%s and %s: positions %s to %s came on both", o, s, number(from), number(to))
			return
		}
	}
}

// compare checks the sums of a segment.
func (r *Report) compare(e Epoch, s *segment) error {
	var sum Sum
	short := false
	for _, x := range s.records {
		sum.Add(x.Sum)
		// Each rank has equal parts of all steps but the last of the epoch.
		if want := (s.to - s.from) / int64(s.world); s.to < max(e.To, e.Rows) && x.Rows+x.Lost != want {
			r.fault("rank %d of %d has %s rows of positions %s to %s, and its share is %s",
				x.Rank, s.world, number(x.Rows+x.Lost), number(s.from), number(s.to), number(want))
			short = true
		}
	}
	if len(s.records) < s.world {
		r.Unseen = append(r.Unseen, Unseen{From: s.from, To: s.to, World: s.world, Ranks: len(s.records)})
		return nil
	}
	r.Rows, r.Lost, r.Padded = r.Rows+sum.Rows, r.Lost+sum.Lost, r.Padded+sum.Padded
	if got, want := sum.Rows+sum.Lost, s.to-s.from; got != want {
		if !short {
			r.fault("%s: %s rows came, and the order has %s", s, number(got), number(want))
		}
		return nil
	}
	if e.Due == nil || short {
		return nil
	}
	due, err := e.Due(s.from, s.to)
	if err == nil && due != sum.Hash {
		r.fault("%s: as many rows came as the order has, but not the same: some came twice and others not, or are of another place", s)
	}
	return err
}

func (s *segment) String() string {
	if len(s.records) == 1 && s.world > 1 {
		return fmt.Sprintf("positions %s to %s on rank %d of %d", number(s.from), number(s.to), s.records[0].Rank, s.world)
	}
	return fmt.Sprintf("positions %s to %s on %d of %d ranks", number(s.from), number(s.to), len(s.records), s.world)
}
