package shuffle

import (
	"cmp"
	"math/bits"
	"slices"
)

// Span is a unit, or a part of one, in a lane.
type Span struct {
	Unit     int   // index into Plan.Units
	From, To int64 // samples of the unit by number, [From, To), at least one
}

// Rows is the span's samples.
func (s Span) Rows() int64 { return s.To - s.From }

// Lane is one lane of an epoch: its spans in the order in which they arrive, and the ticks in which
// their rows leave. The spans of a lane are numbered from 0 in that order. It is immutable and safe
// for concurrent use.
type Lane struct {
	epoch *Epoch
	slot  int
	line  int
	spans []span
	cum   []int64  // rows of the spans before j; one more than spans
	tau   []uint32 // arrival tick of span j, never falling
	life  []uint32 // of the spans that fill the lane at tick 0; the others live Params.Life ticks
	last  int64    // Ea, tick of the last arrival
	ticks int64    // E
}

type span struct {
	unit uint32
	lo   uint32 // number of its first row among the unit's
	rows uint32

	// The lane emits the span's rows [first, last) in their order: all of them, except in a pass
	// over a source of a mixture that was cut again.
	first, last uint32
}

// Lane at a slot. The work is proportional to its spans.
func (e *Epoch) Lane(slot int) *Lane {
	l := &Lane{epoch: e, slot: slot, line: e.plan.lineOf[slot]}
	l.spans = orderSpans(l.lineSpans(), l)
	l.schedule()
	return l
}

// lineSpans lists the lane's spans in the order of the line.
func (l *Lane) lineSpans() []span {
	e, p := l.epoch, l.epoch.plan
	if e.lines != nil {
		return e.lines[l.line]
	}
	from, to := e.cuts[l.line], e.cuts[l.line+1]
	var out []span
	for s := from.shard; s <= to.shard && s < len(e.shards); s++ {
		first, end := p.shardUnits[e.shards[s]], p.shardUnits[e.shards[s]+1]
		if s == from.shard {
			first = from.unit
		}
		if s == to.shard {
			end = to.unit
			if to.row > 0 {
				end++
			}
		}
		for u := first; u < end; u++ {
			lo, hi := int64(0), p.units.At(u).Samples
			if s == from.shard && u == from.unit {
				lo = from.row
			}
			if s == to.shard && u == to.unit {
				hi = to.row
			}
			if lo < hi { // a lane without samples may be inside a unit, and a unit may have no samples
				out = append(out, span{unit: uint32(u), lo: uint32(lo), rows: uint32(hi - lo), last: uint32(hi - lo)})
			}
		}
	}
	return out
}

// orderSpans sorts the spans by a random key each, equal keys by unit and row; spread limits how
// far from its shard's place a span may come.
func orderSpans(spans []span, l *Lane) []span {
	p := l.epoch.plan
	r := newRNG(domOrder, p.seed, l.epoch.number, uint64(l.line))
	if n := l.epoch.rests; n > 0 {
		r = newRNG(domOrder, p.seed, l.epoch.number, uint64(l.line), n)
	}
	keys := make([]uint64, len(spans))
	if p.params.Spread == 0 {
		for i := range keys {
			keys[i] = r.uint64()
		}
	} else {
		place := l.shardPlaces(&r, spans)
		for i, s := range spans {
			keys[i] = place[p.shardOf(s)]<<32 + r.below(uint64(p.params.Spread)<<32)
		}
	}
	order := permIdentity(len(spans))
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(spans[a].unit, spans[b].unit), cmp.Compare(spans[a].lo, spans[b].lo),
			cmp.Compare(spans[a].first, spans[b].first))
	})
	out := make([]span, len(spans))
	for i, o := range order {
		out[i] = spans[o]
	}
	return out
}

func permIdentity(n int) []uint32 {
	a := make([]uint32, n)
	for i := range a {
		a[i] = uint32(i)
	}
	return a
}

func (p *Plan) shardOf(s span) int32 { return p.manifest.Groups[p.units.At(int(s.unit)).Group].Shard }

// shardPlaces shuffles the lane's shards, taken in the order of the line.
func (l *Lane) shardPlaces(r *rng, spans []span) map[int32]uint64 {
	var shards []int32
	place := map[int32]uint64{}
	for _, s := range spans {
		sh := l.epoch.plan.shardOf(s)
		if _, ok := place[sh]; !ok {
			place[sh] = 0
			shards = append(shards, sh)
		}
	}
	shuffle(r, shards)
	for i, sh := range shards {
		place[sh] = uint64(i)
	}
	return place
}

// schedule gives each span its tick and life. Spans of which rows have left before count with all
// of their rows, since they take the memory of these.
func (l *Lane) schedule() {
	p := l.epoch.plan
	l.cum = make([]int64, len(l.spans)+1)
	held := l.cum // rows of the spans before j, emitted ones included
	if l.epoch.lines != nil {
		held = make([]int64, len(l.spans)+1)
	}
	for j, s := range l.spans {
		l.cum[j+1] = l.cum[j] + int64(s.last-s.first)
		held[j+1] = held[j] + int64(s.rows)
	}
	if len(l.spans) == 0 {
		return
	}
	fill, steady := 1, int64(0)
	l.life = []uint32{uint32(p.params.Life)}
	if p.params.Start == Filled {
		steady = p.params.Steady()
		fill = l.fillSpans(held)
		l.life = l.fillLives(held[:fill+1], steady)
	}
	phase := mulDiv(p.sizes.laneMean(p.params.Lanes), int64(l.line), int64(p.params.Lanes))
	l.tau = make([]uint32, len(l.spans))
	for j := fill; j < len(l.spans); j++ {
		l.tau[j] = uint32((max(0, held[j]-steady) + phase) / p.params.Quantum)
	}
	l.last = int64(l.tau[len(l.tau)-1])
	l.ticks = l.last + 1 + ceilDiv(p.params.Life, 3)
}

// fillSpans is m: as many of the first spans as fit the lane's share of the buffer, at least one.
func (l *Lane) fillSpans(held []int64) int {
	share := l.epoch.plan.params.Buffer / int64(l.epoch.plan.params.Lanes)
	m := 1
	for m < len(l.spans) && held[m+1] <= share {
		m++
	}
	return m
}

// fillLives lets the lives of the fill grow as the cube root of the rows before them, so that it
// drains as a steady buffer does: the least d with d^3 * 2S >= D^3 * min(2*cum + n, 2S).
func (l *Lane) fillLives(held []int64, steady int64) []uint32 {
	full := uint64(l.epoch.plan.params.Life)
	lives := make([]uint32, len(held)-1)
	d := uint64(1)
	for j := range lives {
		middle := uint64(min(held[j]+held[j+1], 2*steady))
		wantHi, wantLo := bits.Mul64(full*full*full, middle)
		for {
			hi, lo := bits.Mul64(d*d*d, 2*uint64(steady))
			if d >= full || hi > wantHi || hi == wantHi && lo >= wantLo {
				break
			}
			d++
		}
		lives[j] = uint32(d)
	}
	return lives
}
