package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The peak that arithmetic finds for a lane is the one that walking it tick by tick shows.
func TestLanePeakIsExact(t *testing.T) {
	for _, o := range []Options{
		{ShuffleBuffer: Size{Rows: 400}},
		{ShuffleBuffer: Size{Rows: 1500}, Order: Order{Lanes: 3}},
		{ShuffleBuffer: Size{Rows: 3000}, Order: Order{Lanes: 2, Start: shuffle.Direct}},
		{ShuffleBuffer: Size{Rows: 10}, Order: Order{Lanes: 5}},
	} {
		t.Run(fmt.Sprintf("%+v", o.ShuffleBuffer), func(t *testing.T) {
			o.Shuffle = true
			d := open(t, pictures(t), o)
			p, err := d.sources[0].plan(1, StreamOptions{Tail: shuffle.Drop}, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			e := p.Epoch(0)
			for slot := range p.Params().Lanes {
				lane := e.Lane(slot)
				peak := lanePeak{sizes: d.sources[0].sizes, lane: lane, plan: p, units: p.Units(), drawn: estimate.NewDensest(0)}
				if got, whole := peak.bytes(); whole < got {
					t.Errorf("%+v, slot %d: %s divided, %s whole", o.ShuffleBuffer, slot, mem.Bytes(got), mem.Bytes(whole))
				} else if want := walkedPeak(d, p, lane); got != want {
					t.Errorf("%+v, slot %d: %s, want %s", o.ShuffleBuffer, slot, mem.Bytes(got), mem.Bytes(want))
				}
			}
		})
	}
}

// Large ticks are counted as they are, small ones roughly.
func TestTickRows(t *testing.T) {
	m := &shuffle.Manifest{Shards: []shuffle.Shard{{Path: "a", Size: 1}}}
	for g := range 6 {
		m.Groups = append(m.Groups, shuffle.Group{Index: int32(g), Rows: 700_000})
	}
	var units []shuffle.Unit
	for g := range m.Groups {
		units = append(units, shuffle.Unit{Group: g, Hi: m.Groups[g].Rows, Samples: m.Groups[g].Rows})
	}
	for _, c := range []struct {
		name   string
		params shuffle.Params
		exact  bool
	}{
		{"one tick for a unit", shuffle.Params{Lanes: 1, Quantum: 600_000, Life: 1, Buffer: 900_000}, true},
		{"long lives", shuffle.Params{Lanes: 2, Quantum: 400_000, Life: 5, Buffer: 2_000_000}, true},
		{"small ticks", shuffle.Params{Lanes: 1, Quantum: 1000, Life: 900, Buffer: 900_000}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.params.Start, c.params.Assign, c.params.Tail = shuffle.Filled, shuffle.Sticky, shuffle.Drop
			plan, err := shuffle.New(m, shuffle.ListUnits(units), c.params, 3)
			if err != nil {
				t.Fatal(err)
			}
			for slot := range c.params.Lanes {
				lane := plan.Epoch(0).Lane(slot)
				var largest int64
				for it, tick := lane.Iter(), (shuffle.Tick{}); it.Next(&tick); {
					largest = max(largest, int64(len(tick.Picks)))
				}
				p := lanePeak{lane: lane, plan: plan, units: plan.Units()}
				if got := p.tickRows(); got < largest || c.exact && got != largest {
					t.Errorf("slot %d: %d rows, want %d", slot, got, largest)
				}
			}
		})
	}
}

// walkedPeak takes spans and frees parts and spans as a stream does.
func walkedPeak(d *Dataset, p *shuffle.Plan, lane *shuffle.Lane) (peak int64) {
	var held int64
	costs := make([]estimate.Cost, lane.Spans())
	freed := make([]int, lane.Spans())
	it, tick := lane.Iter(), shuffle.Tick{}
	for it.Next(&tick) {
		for _, j := range tick.Load {
			sp := lane.Span(int(j))
			u := p.Units().At(sp.Unit)
			costs[j] = d.sources[0].sizes.cost(u.Group, u.Lo+sp.From, u.Lo+sp.To, true)
			held += costs[j].Bytes()
		}
		peak = max(peak, held)
		for j := range costs {
			c := &costs[j]
			if c.Whole == 0 {
				continue
			}
			n := int(lane.Span(j).Rows())
			emitted := int(lane.Emitted(j, tick.Index))
			for c.Parts > 0 && freed[j] < c.Parts && ahead.PartEnd(n, c.Parts, freed[j]) <= emitted {
				part := c.Parted / int64(c.Parts)
				if freed[j]++; freed[j] == c.Parts {
					part = c.Parted - part*int64(c.Parts-1)
				}
				held -= part
			}
			if emitted == n && c.Whole > 0 {
				held -= c.Whole
				c.Whole = 0
			}
		}
	}
	return peak
}

// Loads ahead take what the limit has room for, never more than asked, and nothing from what is
// needed.
func TestBoundAhead(t *testing.T) {
	b := bound{shuffle: 1000, draws: 50, batch: 10, load: estimate.Cost{Fetch: 30, Whole: 20, Parted: 50}}
	if got, want := b.least(), (mem.Amounts{mem.Fetch: 30, mem.Decode: 70, mem.Shuffle: 1050, mem.Batch: 10}); got != want {
		t.Fatalf("least %v", got)
	}
	for _, c := range []struct{ limit, loads, fetches, whole, bytes int64 }{
		{0, 5, 5, 0, 0},
		{1160, 5, 0, 0, 0},
		{1189, 5, 5, 0, 0},
		{1219, 5, 5, 0, 1}, // half of the rest, and at most twice the batches, is theirs
		{1279, 5, 5, 0, 3},
		{1280, 5, 5, 1, 0},
		{1 << 40, 5, 0, 5, 0},
		{1 << 40, 5, 7, 5, 7},
		{1 << 40, 0, 7, 0, 7},
		{1 << 40, 0, 0, 0, 0},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			got := b.ahead(c.limit, int(c.loads), int(c.fetches))
			want := b.least()
			want[mem.Fetch] += (c.whole + c.bytes) * 30
			want[mem.Decode] += c.whole * 70
			if got != want {
				t.Errorf("limit %d, %d loads, %d fetches: %v, want %v", c.limit, c.loads, c.fetches, got, want)
			}
		})
	}
	if got := (estimate.Cost{Fetch: 9, Whole: 1, Parted: 2, Parts: 2}).Largest(estimate.Cost{Fetch: 4, Whole: 5}); got != (estimate.Cost{Fetch: 9, Whole: 5}) {
		t.Errorf("largest %+v", got)
	}
}
