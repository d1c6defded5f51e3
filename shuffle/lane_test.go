package shuffle

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
)

// peakRows replays a lane: the rows that are loaded, a tick's arrivals one tick ahead, less those
// emitted.
func peakRows(l *Lane) int64 {
	var peak, loaded int64
	next := 0
	for k := range l.ticks {
		for next < len(l.spans) && l.Arrival(next) <= k+1 {
			loaded += l.Span(next).Rows()
			next++
		}
		peak = max(peak, loaded-l.Before(k))
	}
	return peak
}

// No lane ever holds more than its bound, and all lanes together no more than the buffer where the
// buffer suffices for a life of one tick.
func TestMemoryBound(t *testing.T) {
	lanes, worst := 0, 0.0
	for n := range cases(t, 2000) {
		c := randomCase(t, 3000+n)
		p := c.plan
		bound := p.params.LaneBound(p.sizes.rows, p.sizes.largest)
		var sum int64
		for slot := range p.params.Lanes {
			l := c.e.Lane(slot)
			peak := peakRows(l)
			if sum += peak; peak > bound {
				t.Errorf("case %d (%s): lane %d holds %d rows, the bound is %d", n, c.name, slot, peak, bound)
			}
			lanes++
			worst = max(worst, float64(peak)/float64(bound))
		}
		if sum > p.Bound(p.params.Lanes) {
			t.Errorf("case %d (%s): %d rows in all, the bound is %d", n, c.name, sum, p.Bound(p.params.Lanes))
		}
		unit := p.params.laneUnit(p.sizes.rows, p.sizes.largest)
		if laneBound(p.params.Quantum, p.params.Life, unit) <= p.params.Buffer/int64(p.params.Lanes) && sum > p.params.Buffer {
			t.Errorf("case %d (%s): %d rows in all, the buffer is %d", n, c.name, sum, p.params.Buffer)
		}
	}
	t.Logf("%d lanes, the fullest at %.3f of its bound", lanes, worst)
}

func TestBoundOfLanes(t *testing.T) {
	p := newPlan(t, manifestOf(slices.Repeat([]int64{1000}, 100)), Options{Buffer: 20_000, WorldSize: 4}, 1)
	lane := p.params.LaneBound(p.sizes.rows, p.sizes.largest)
	for lanes, want := range map[int]int64{0: 0, 1: lane, 2: 2 * lane, 1 << 30: 100_000} {
		t.Run(fmt.Sprint(lanes), func(t *testing.T) {
			if got := p.Bound(lanes); got != want {
				t.Errorf("%d lanes: bound %d, want %d", lanes, got, want)
			}
		})
	}
}

// What an iterator tells agrees with what the lane says.
func TestTicksAgree(t *testing.T) {
	for n := range cases(t, 300) {
		c := randomCase(t, 4000+n)
		for slot := range c.plan.params.Lanes {
			l := c.e.Lane(slot)
			checkTicks(t, l)
		}
	}
}

func checkTicks(t *testing.T, l *Lane) {
	t.Helper()
	var tick Tick
	loaded, emitted, row := uint32(0), map[uint32]int64{}, int64(0)
	last := int64(-1)
	for it := l.Iter(); it.Next(&tick); {
		if tick.Index <= last || tick.Row != row || l.Before(tick.Index) != row {
			t.Fatalf("tick %d after %d begins at row %d, expected %d, Before has %d", tick.Index, last, tick.Row, row, l.Before(tick.Index))
		}
		last = tick.Index
		for _, j := range tick.Load {
			if j != loaded || l.Arrival(int(j)) != tick.Index || l.Need(int(j)) != row {
				t.Fatalf("span %d is loaded after %d in tick %d, arrives in %d at row %d", j, loaded, tick.Index, l.Arrival(int(j)), l.Need(int(j)))
			}
			loaded++
		}
		from := maps.Clone(emitted)
		for _, p := range tick.Picks {
			if p.Span >= loaded {
				t.Fatalf("span %d is picked before it is loaded", p.Span)
			}
			if int64(p.Seq) != emitted[p.Span] { // a span's rows leave one after another
				t.Fatalf("tick %d picks row %d of span %d, expected %d", tick.Index, p.Seq, p.Span, emitted[p.Span])
			}
			emitted[p.Span]++
		}
		for j, n := range emitted {
			if want := l.Emitted(int(j), tick.Index); n != want {
				t.Fatalf("span %d emitted %d rows up to tick %d, expected %d", j, n, tick.Index, want)
			}
		}
		for _, j := range tick.Finished {
			if emitted[j] != l.Span(int(j)).Rows() || from[j] == emitted[j] {
				t.Fatalf("span %d is finished in tick %d with %d rows of %d", j, tick.Index, emitted[j], l.Span(int(j)).Rows())
			}
			delete(emitted, j)
		}
		if len(tick.Picks) > 0 && l.TickOf(row) != tick.Index {
			t.Fatalf("row %d is in tick %d, TickOf has %d", row, tick.Index, l.TickOf(row))
		}
		row += int64(len(tick.Picks))
	}
	if row != l.Rows() || int(loaded) != l.Spans() || len(emitted) > 0 {
		t.Fatalf("%d rows of %d, %d spans of %d, %d not finished", row, l.Rows(), loaded, l.Spans(), len(emitted))
	}
}

// All orders of a tick's rows are equally likely: over many seeds, each of the 720 orders of two
// spans of three rows comes as often as chance has it.
func TestTickIsUniform(t *testing.T) {
	const rows, each = 6, 100
	m := manifestOf([]int64{rows / 2, rows / 2})
	units := cutUnits(t, m, 0)
	params := Params{Lanes: 1, Quantum: rows, Life: 1, Buffer: rows, Start: Filled, Assign: Sticky, Tail: Short}
	seen, orders := map[[rows]testRow]int{}, 720
	for seed := range uint64(each * orders) {
		p, err := New(m, units, params, seed)
		if err != nil {
			t.Fatal(err)
		}
		seen[[rows]testRow(epochRows(t, p.Epoch(0)))]++
	}
	deviation := float64(each * (orders - len(seen)))
	for _, n := range seen {
		deviation += float64((n-each)*(n-each)) / each
	}
	if limit := float64(orders) + 6*math.Sqrt(2*float64(orders)); deviation > limit { // chi-square of 719 degrees of freedom
		t.Errorf("%d of %d orders came, chi-square %.0f, want at most %.0f", len(seen), orders, deviation, limit)
	} else {
		t.Logf("chi-square %.0f of %d orders", deviation, orders)
	}
}

// A seek loads the spans that still have rows then, and no others.
func TestSeekLoadsTheResident(t *testing.T) {
	for n := range cases(t, 300) {
		c := randomCase(t, 5000+n)
		r := newRNG("test", 12, n)
		l := c.e.Lane(int(r.below(uint64(c.plan.params.Lanes))))
		if l.Rows() == 0 {
			continue
		}
		row := int64(r.below(uint64(l.Rows())))
		if n%4 == 0 {
			row = l.Before(l.TickOf(row))
		}
		it := l.Iter()
		it.SeekRow(row)
		loaded := map[uint32]bool{}
		used := map[uint32]bool{}
		var tick Tick
		opening, load := l.Opening(row)
		for first := true; it.Next(&tick); first = false {
			if first && (opening != tick.Index || !slices.Equal(load, tick.Load)) {
				t.Fatalf("case %d: row %d opens tick %d with %d, Next is tick %d with %d", n, row, opening, load, tick.Index, tick.Load)
			}
			for _, j := range tick.Load {
				if loaded[j] {
					t.Fatalf("case %d: span %d is loaded twice", n, j)
				}
				loaded[j] = true
			}
			for _, p := range tick.Picks {
				used[p.Span] = true
			}
		}
		for j := range loaded {
			if !used[j] {
				t.Errorf("case %d (%s): after a seek to row %d span %d is loaded for nothing", n, c.name, row, j)
			}
		}
		if len(used) != len(loaded) {
			t.Errorf("case %d: %d spans are used, %d loaded", n, len(used), len(loaded))
		}
	}
}

// Ranks share at most one shard with each neighbour, and a unit is in two lanes at most once per
// cut.
func TestLocality(t *testing.T) {
	m := studyManifest(300)
	for _, c := range []struct{ world, lanes int }{{8, 0}, {3, 0}, {6, 48}, {64, 64}, {12, 96}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			p := newPlan(t, m, Options{Buffer: m.Rows() / 5, WorldSize: c.world, Lanes: c.lanes}, 3)
			for epoch := range uint64(2) {
				e := p.Epoch(epoch)
				ranks := map[int32]map[int]bool{}
				lanes := map[int]int{}
				for rank := range c.world {
					v, err := p.View(Worker{Rank: rank, WorldSize: c.world})
					if err != nil {
						t.Fatal(err)
					}
					for _, slot := range v.Slots(e, 0, p.Rows(), int64(c.world)) {
						l := e.Lane(slot)
						for j := range l.Spans() {
							unit := l.Span(j).Unit
							lanes[unit]++
							shard := m.Groups[p.units.At(unit).Group].Shard
							if ranks[shard] == nil {
								ranks[shard] = map[int]bool{}
							}
							ranks[shard][rank] = true
						}
					}
				}
				shared, cuts := 0, 0
				for _, r := range ranks {
					shared += len(r) - 1
				}
				for _, n := range lanes {
					cuts += n - 1
				}
				if shared > c.world-1 || cuts > p.params.Lanes-1 || len(lanes) != p.units.Len() {
					t.Errorf("%+v: %d shards are shared, %d units are cut in %d lanes, %d units of %d", c, shared, cuts, p.params.Lanes, len(lanes), p.units.Len())
				}
			}
		})
	}
}

// Sticky lanes have the same rows in every epoch, in another order; the others have not.
func TestAssign(t *testing.T) {
	m := studyManifest(40)
	for _, assign := range []Assign{Sticky, PerEpoch} {
		p := newPlan(t, m, Options{Buffer: m.Rows() / 5, WorldSize: 8, Assign: assign}, 3)
		a, b := p.Epoch(0).Lane(3), p.Epoch(1).Lane(3)
		spans := func(l *Lane) (out []Span) {
			for j := range l.Spans() {
				out = append(out, l.Span(j))
			}
			return out
		}
		x, y := spans(a), spans(b)
		if slices.Equal(x, y) {
			t.Errorf("%s: the spans come in the same order in two epochs", assign)
		}
		sort := func(s []Span) { slices.SortFunc(s, func(a, b Span) int { return a.Unit - b.Unit }) }
		sort(x)
		sort(y)
		if slices.Equal(x, y) != (assign == Sticky) {
			t.Errorf("%s: same spans in two epochs: %t", assign, slices.Equal(x, y))
		}
	}
}

// With spread H, a unit comes no further than H shards from its shard's place.
func TestSpread(t *testing.T) {
	m := studyManifest(60)
	for _, spread := range []int{1, 2, 5} {
		p := newPlan(t, m, Options{Buffer: m.Rows() / 5, Spread: spread, Lanes: 1}, 3)
		l := p.Epoch(0).Lane(0)
		open, left := map[int32]bool{}, map[int32]int{}
		for j := range l.Spans() {
			left[m.Groups[p.units.At(l.Span(j).Unit).Group].Shard]++
		}
		most := 0
		for j := range l.Spans() {
			s := m.Groups[p.units.At(l.Span(j).Unit).Group].Shard
			open[s] = true
			most = max(most, len(open))
			if left[s]--; left[s] == 0 {
				delete(open, s)
			}
		}
		if most > 2*spread || spread > 1 && most == 1 {
			t.Errorf("spread %d: %d shards were open at once", spread, most)
		}
	}
}

func TestIterAllocatesNothing(t *testing.T) {
	p := newPlan(t, studyManifest(200), Options{Buffer: 1_000_000}, 3)
	l := p.Epoch(0).Lane(0)
	it := l.Iter()
	var tick Tick
	order := make([]uint32, 0, 1<<17)
	for range 200 {
		it.Next(&tick)
	}
	n := testing.AllocsPerRun(100, func() {
		it.Next(&tick)
		for _, j := range tick.Load {
			order = l.RowOrder(int(j), order)
		}
	})
	if n > 0.1 {
		t.Errorf("%v allocations a tick", n)
	}
}

// Small worlds: each of these must give every row once.
func TestSmallData(t *testing.T) {
	for name, c := range map[string]struct {
		m *Manifest
		o Options
	}{
		"1 group of 10 rows on 8 ranks":            {manifestOf([]int64{10}), Options{Buffer: 1000, WorldSize: 8}},
		"4 shards of one row group on 8 ranks":     {manifestOf([]int64{100}, []int64{50}, []int64{70}, []int64{10}), Options{Buffer: 30, WorldSize: 8}},
		"3 rows on 8 ranks":                        {manifestOf([]int64{3}), Options{Buffer: 5, WorldSize: 8}},
		"1 row on 8 ranks":                         {manifestOf([]int64{1}), Options{Buffer: 1, WorldSize: 8}},
		"no row":                                   {manifestOf([]int64{0}), Options{Buffer: 1, WorldSize: 8}},
		"no shard":                                 {manifestOf(), Options{Buffer: 1}},
		"shards without groups":                    {manifestOf(nil, []int64{3}, nil), Options{Buffer: 1, WorldSize: 2}},
		"one large unit in a small buffer":         {manifestOf([]int64{5000}), Options{Buffer: 100, WorldSize: 5}},
		"one large unit among small ones":          {manifestOf([]int64{1, 5000, 1, 1}, []int64{1, 1}), Options{Buffer: 100, WorldSize: 2}},
		"4,096 ranks":                              {manifestOf([]int64{5000}), Options{Buffer: 100, WorldSize: 4096}},
		"a unit of one row each, one lane, buffer": {manifestOf(slices.Repeat([]int64{1}, 500)), Options{Buffer: 50}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlan(t, c.m, c.o, 1)
			e := p.Epoch(0)
			seen := map[testRow]bool{}
			for _, r := range epochRows(t, e) {
				seen[r] = true
			}
			if int64(len(seen)) != c.m.Rows() {
				t.Errorf("%d rows of %d", len(seen), c.m.Rows())
			}
			for slot := range p.params.Lanes {
				checkTicks(t, e.Lane(slot))
			}
		})
	}
}
