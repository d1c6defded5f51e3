package iterable

import (
	"errors"
	"slices"
	"sort"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A bound is the memory that a stream needs, known before it reads anything.
type bound struct {
	shuffle int64         // what is in the buffer at its worst
	whole   int64         // the same where blocks are not divided
	draws   int64         // rows that have left in draws that are not released
	ticks   int64         // the order in which rows leave
	load    estimate.Cost // the largest single load, by each of its costs
	batch   int64         // batches of the layer above
	store   int64         // what the stores below hold

	scratch, moreScratch int64 // of the layer above: what it needs, and what it can use too
}

// least returns the minimum of a stream: one load on its way.
func (b bound) least() mem.Amounts {
	return mem.Amounts{
		mem.Fetch: b.load.Fetch, mem.Decode: b.load.Bytes() + b.load.BeyondFree(), mem.Shuffle: b.shuffle + b.draws + b.ticks,
		mem.Batch: b.batch, mem.Store: b.store, mem.Scratch: b.scratch,
	}
}

// largeBatches limits how much all batches may exceed their prediction before reading ahead has
// less memory. They get at most half of the memory beyond the least.
const largeBatches = 2

// ahead returns the memory for reading ahead: the least, plus as much further scratch and as many
// further loads as limit has room for. These are up to loads whole loads, then the bytes of up to
// fetches that wait for memory for their blocks.
func (b bound) ahead(limit int64, loads, fetches int) mem.Amounts {
	need := b.least()
	limit -= max(0, min((limit-need.Total())/2, largeBatches*b.batch))
	need[mem.Scratch] += moreScratch(b.moreScratch, limit-need.Total())
	fit := func(most int, bytes int64) int64 {
		if room := limit - need.Total(); bytes > 0 && room > 0 {
			return min(int64(most), room/bytes)
		}
		return 0
	}
	n := fit(loads, b.load.Fetch+b.load.Bytes()+b.load.Scratch)
	need[mem.Fetch] += n * b.load.Fetch
	need[mem.Decode] += n * (b.load.Bytes() + b.load.Scratch)
	need[mem.Fetch] += fit(fetches, b.load.Fetch) * b.load.Fetch
	return need
}

// leastEarly is the memory of small blocks that are decoded before the consumer needs them, so
// that each does not wait for the one before.
const leastEarly = 16 << 20

// moreScratch returns how much more scratch the layer above gets: what fits in half of the room.
func moreScratch(wanted, room int64) int64 { return max(0, min(wanted, room/2)) }

// early is the most that blocks take before the consumer needs them: those on their way, and one
// more in room that the shuffle buffer leaves.
func (b bound) early(reserved mem.Amounts) int64 {
	return max(leastEarly, reserved[mem.Decode]+b.load.Bytes()) + b.load.Scratch
}

const (
	pickBytes   = 8        // of a row of a tick
	freeTicks   = 16 << 20 // of the ticks of all lanes, that no account counts
	exactTicks  = 1 << 24  // of all spans of an epoch, over which the rows of a lane's largest tick are estimated
	boundEpochs = 4        // whose bounds are computed
	boundUnits  = 1 << 15  // units of a plan above which one epoch represents all: they even out
)

// epochs is the bound of the first epochs that a stream reads, which differ in the order of their
// units.
func (s *sizes) epochs(l *laneEpochs, rowsDrawn int64) bound {
	b := s.lanes(l.at(l.start.epoch), rowsDrawn)
	if l.plan.Units().Len() > boundUnits {
		return b
	}
	for e := l.start.epoch + 1; e < l.start.epoch+boundEpochs && (l.start.end == 0 || e < l.start.end); e++ {
		n := s.lanes(l.at(e), rowsDrawn)
		b.shuffle, b.whole, b.draws, b.load = max(b.shuffle, n.shuffle), max(b.whole, n.whole), max(b.draws, n.draws), b.load.Largest(n.load)
		b.ticks = max(b.ticks, n.ticks)
	}
	return b
}

// lanes is the bound of the lanes that a stream reads of an epoch: each at its worst. Draws may
// hold rows of the lanes when they have left.
func (s *sizes) lanes(e *laneEpoch, rowsDrawn int64) bound {
	var b bound
	drawn := estimate.NewDensest(rowsDrawn)
	held, whole, ticks, tick := s.lanesOf(e, &b.load, drawn)
	b.shuffle, b.whole, b.draws = held, whole, drawn.Most()
	b.ticks = max(0, (ticks+tick)*pickBytes-freeTicks) // the lanes' spans, and one more of the schedule's
	return b
}

// lanesOf returns the peak of the lanes that a stream reads of an epoch, also if blocks are not
// divided, and the rows of the largest tick of each, all together and the most. It adds their loads
// and spans.
func (s *sizes) lanesOf(e *laneEpoch, load *estimate.Cost, drawn *estimate.Densest) (held, whole, ticks, tick int64) {
	units := e.plan.Units()
	for _, slot := range e.slots {
		p := lanePeak{sizes: s, lane: e.lanes[slot], plan: e.plan, units: units, drawn: drawn}
		divided, undivided := p.bytes()
		held, whole = held+divided, whole+undivided
		*load = load.Largest(p.largest)
		rows := p.tickRows()
		ticks, tick = ticks+rows, max(tick, rows)
	}
	return held, whole, ticks, tick
}

// lanePeak computes how many bytes a lane holds at most. Memory is taken in the tick in which a
// span arrives and freed after the tick in which its last row leaves, or the last row of a part.
type lanePeak struct {
	sizes *sizes
	lane  *shuffle.Lane
	plan  *shuffle.Plan
	units *shuffle.Units

	change  []int64 // of the bytes held, by tick; memory freed after a tick counts for the next
	whole   []int64 // the same where blocks are not divided
	largest estimate.Cost
	drawn   *estimate.Densest // of the spans
}

// bytes returns the peak, with and without divided blocks.
func (p *lanePeak) bytes() (divided, whole int64) {
	p.change, p.whole = make([]int64, p.lane.Ticks()+1), make([]int64, p.lane.Ticks()+1)
	for j := range p.lane.Spans() {
		p.span(j)
	}
	return peakOf(p.change), peakOf(p.whole)
}

func peakOf(change []int64) (peak int64) {
	held := int64(0)
	for _, c := range change {
		held += c
		peak = max(peak, held)
	}
	return peak
}

func (p *lanePeak) span(j int) {
	sp := p.lane.Span(j)
	u := p.units.At(sp.Unit)
	c := p.sizes.spanCost(u, sp, true)
	p.largest = p.largest.Largest(c)
	p.drawn.Add(sp.Rows(), c.Bytes())
	p.change[p.lane.Arrival(j)] += c.Bytes()
	end := p.emptied(j, p.lane.End(j)) + 1
	p.whole[p.lane.Arrival(j)] += c.Bytes()
	p.whole[end] -= c.Bytes()
	p.change[end] -= c.Whole
	for i := range c.Parts {
		part := c.Parted / int64(c.Parts)
		if i == c.Parts-1 {
			part = c.Parted - part*int64(c.Parts-1)
		}
		p.change[p.freed(j, int64(ahead.PartEnd(int(sp.Rows()), c.Parts, i)))] -= part
	}
}

// freed returns the tick in which the memory of a span's first rows is free: its arrival
// if they left before the lane started.
func (p *lanePeak) freed(j int, rows int64) int64 {
	if rows <= p.lane.Emitted(j, p.lane.Arrival(j)-1) {
		return p.lane.Arrival(j)
	}
	return p.emptied(j, min(rows, p.lane.End(j))) + 1
}

// tickRows bounds the rows of the lane's largest tick: roughly where ticks are small.
func (p *lanePeak) tickRows() int64 {
	var largest int64
	for j := range p.lane.Spans() {
		largest = max(largest, p.lane.Span(j).Rows())
	}
	rough := min(p.lane.Rows(), 2*(p.plan.Params().Quantum+largest))
	if rough*pickBytes*int64(p.plan.Params().Lanes) <= freeTicks || p.spanTicks() > exactTicks {
		return rough
	}
	rows := make([]int64, p.lane.Ticks())
	for j := range p.lane.Spans() {
		before := p.lane.Emitted(j, p.lane.Arrival(j)-1)
		for k := p.lane.Arrival(j); k < p.lane.Ticks() && before < p.lane.End(j); k++ {
			emitted := p.lane.Emitted(j, k)
			rows[k] += emitted - before
			before = emitted
		}
	}
	return slices.Max(rows)
}

// spanTicks is the number of ticks in which rows of each span of an epoch leave, added up.
func (p *lanePeak) spanTicks() int64 {
	return int64(p.lane.Spans()) * min(p.lane.Ticks(), p.plan.Params().Life) * int64(p.plan.Params().Lanes)
}

// emptied returns the first tick after which n rows of a span have left.
func (p *lanePeak) emptied(j int, rows int64) int64 {
	from, to := p.lane.Arrival(j), p.lane.Ticks()-1
	if life := p.plan.Params().Life; from+life < p.lane.Arrival(p.lane.Spans()-1) {
		to = from + life
	}
	return from + int64(sort.Search(int(to-from), func(k int) bool { return p.lane.Emitted(j, from+int64(k)) >= rows }))
}

// files is the bound of the order without shuffle: two units, and the rows of the draws.
func (s *sizes) files(units *shuffle.Units, rowsDrawn int64) bound {
	var b bound
	drawn := estimate.NewDensest(rowsDrawn)
	for _, u := range units.All() {
		if u.Samples == 0 {
			continue
		}
		c := s.spanCost(u, shuffle.Span{To: u.Samples}, false)
		b.load = b.load.Largest(c)
		drawn.Add(u.Samples, c.Bytes())
	}
	b.shuffle = 2 * b.load.Bytes()
	b.whole = b.shuffle
	b.draws = drawn.Most()
	return b
}

// reserve admits a stream's bound, with as much read ahead as there is room for, or refuses.
// inImages reports whether blocks may stay whole, so that images of a tier can hold them.
func (d *Dataset) reserve(b bound, decoders int, r remedy) (a *mem.Account, inImages bool, err error) {
	if d.options.Tier != nil {
		whole := b
		whole.shuffle = b.whole
		a, err := d.budget.Reserve(d.memory, whole.ahead(d.memory, decoders, ahead.FetchesAhead(d.fetchers, d.copied, b.load.Fetch)))
		if err == nil {
			return a, true, nil
		}
	}
	a, err = d.reserveDivided(b, decoders, r)
	return a, false, err
}

func (d *Dataset) reserveDivided(b bound, decoders int, r remedy) (*mem.Account, error) {
	a, err := d.budget.Reserve(d.memory, b.ahead(d.memory, decoders, ahead.FetchesAhead(d.fetchers, d.copied, b.load.Fetch)))
	var over *mem.OverLimit
	if errors.As(err, &over) && over.Shared { // others have taken what reading ahead would like
		a, err = d.budget.Reserve(d.memory, b.least())
	}
	if err == nil {
		return a, nil
	}
	e := &MemoryError{Need: Amounts(b.least()), Limit: d.memory, Err: err}
	r.advise(e)
	return nil, e
}
