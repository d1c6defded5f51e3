package shuffle

import (
	"fmt"
	"testing"
)

// testRow is a row of the data: group number and row in the group.
type testRow struct {
	group int
	row   int64
}

// manifestOf makes shards from the row counts of their groups.
func manifestOf(shards ...[]int64) *Manifest {
	m := &Manifest{}
	for s, groups := range shards {
		m.Shards = append(m.Shards, Shard{Path: fmt.Sprintf("part-%06d.parquet", s), Size: int64(1000 + s), Version: "1"})
		for i, n := range groups {
			m.Groups = append(m.Groups, Group{Shard: int32(s), Index: int32(i), Rows: n})
		}
	}
	return m
}

// randomManifest has up to the given shards and groups per shard, with rows in [lo, hi].
func randomManifest(r *rng, shards, groups int, lo, hi int64) *Manifest {
	rows := make([][]int64, 1+r.below(uint64(shards)))
	for s := range rows {
		for range 1 + r.below(uint64(groups)) {
			rows[s] = append(rows[s], lo+int64(r.below(uint64(hi-lo+1))))
		}
	}
	return manifestOf(rows...)
}

// cutUnits cuts groups that say nothing of their bytes and pages.
func cutUnits(t testing.TB, m *Manifest, unitRows int64) Units {
	t.Helper()
	units, err := CutUnits(m, func(int) Layout { return Layout{} }, unitRows)
	if err != nil {
		t.Fatal(err)
	}
	return units
}

// wholeUnits are the same one by one.
func wholeUnits(t testing.TB, m *Manifest, unitRows int64) []Unit {
	t.Helper()
	units := cutUnits(t, m, unitRows)
	return units.List()
}

func newPlan(t testing.TB, m *Manifest, o Options, seed uint64) *Plan {
	t.Helper()
	return planOfUnits(t, m, cutUnits(t, m, o.UnitRows), o, seed)
}

func planOf(t testing.TB, m *Manifest, units []Unit, o Options, seed uint64) *Plan {
	t.Helper()
	return planOfUnits(t, m, ListUnits(units), o, seed)
}

func planOfUnits(t testing.TB, m *Manifest, units Units, o Options, seed uint64) *Plan {
	t.Helper()
	params, err := o.Params(units)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(m, units, params, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// someRule names a rule.
const someRule = "0123456789abcdef"

// thin gives the manifest a rule, under which units lose rows: some none, some most, some all.
func thin(r *rng, m *Manifest, units []Unit) {
	m.Rule = someRule
	for i := range units {
		switch u := &units[i]; r.below(4) {
		case 0:
			u.Samples = 0
		case 1:
			u.Samples = int64(r.below(uint64(u.Rows()+9)/10 + 1))
		case 2:
			u.Samples = int64(r.below(uint64(u.Rows() + 1)))
		}
	}
}

// empty takes all samples from some shards.
func empty(r *rng, m *Manifest, units []Unit) {
	without := make([]bool, len(m.Shards))
	for s := range without {
		without[s] = r.below(3) == 0
	}
	for i, u := range units {
		if without[m.Groups[u.Group].Shard] {
			units[i].Samples = 0
		}
	}
}

// laneRows are the rows of a lane in the order in which it emits them.
func laneRows(l *Lane) []testRow {
	var out []testRow
	var tick Tick
	orders := map[uint32][]uint32{}
	for it := l.Iter(); it.Next(&tick); {
		out = appendPicks(out, l, &tick, orders)
	}
	return out
}

func appendPicks(out []testRow, l *Lane, tick *Tick, orders map[uint32][]uint32) []testRow {
	for _, j := range tick.Load {
		orders[j] = l.RowOrder(int(j), nil)
	}
	for _, p := range tick.Picks {
		s := l.Span(int(p.Span))
		u := l.epoch.plan.units.At(s.Unit)
		out = append(out, testRow{u.Group, u.Lo + s.From + int64(orders[p.Span][p.Seq])})
	}
	for _, j := range tick.Finished {
		delete(orders, j)
	}
	return out
}

// epochRows are all rows of an epoch by position.
func epochRows(t testing.TB, e *Epoch) []testRow {
	t.Helper()
	lanes := e.plan.params.Lanes
	byLane := make([][]testRow, lanes)
	for slot := range byLane {
		byLane[slot] = laneRows(e.Lane(slot))
		if int64(len(byLane[slot])) != e.LaneRows(slot) {
			t.Fatalf("lane %d of %d emits %d rows, not %d", slot, lanes, len(byLane[slot]), e.LaneRows(slot))
		}
	}
	out := make([]testRow, e.plan.Rows())
	next := make([]int, lanes)
	for p := range out {
		slot := e.Slot(int64(p))
		out[p] = byLane[slot][next[slot]]
		next[slot]++
	}
	return out
}
