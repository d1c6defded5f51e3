package shuffle

import (
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// orderCase is one random setting of data and parameters; some have a rule that drops rows.
type orderCase struct {
	options Options
	plan    *Plan
	e       *Epoch
	name    string
}

func randomCase(t testing.TB, n uint64) orderCase {
	t.Helper()
	r := newRNG("test", 1, n)
	hi := 1 + int64(r.below(300))
	lo := int64(r.below(uint64(hi + 1)))
	m := randomManifest(&r, 12, 6, lo, hi)
	rows := max(1, m.Rows())
	o := Options{
		Buffer: 1 + int64(r.below(uint64(2*rows))), WorldSize: 1 + int(r.below(12)), MaxWorldSize: int(r.below(24)),
		Start: []Start{"", Filled, Direct}[r.below(3)], Spread: int(r.below(5)), Assign: []Assign{Sticky, PerEpoch}[r.below(2)],
		Tail: []Tail{Drop, Pad, Short, Carry}[r.below(4)],
	}
	if r.below(3) == 0 {
		o.Lanes = 1 + int(r.below(70))
	}
	if r.below(3) == 0 {
		o.UnitRows = 1 + int64(r.below(200))
	}
	units := wholeUnits(t, m, o.UnitRows)
	if r.below(3) == 0 {
		thin(&r, m, units)
		m.Numbered = r.below(2) == 0
		empty(&r, m, units)
	}
	p := planOf(t, m, units, o, r.uint64())
	return orderCase{options: o, plan: p, e: p.Epoch(r.below(5)), name: p.params.String()}
}

func cases(t *testing.T, most uint64) uint64 {
	if testing.Short() || racetest.Enabled {
		return most / 10
	}
	return most
}

func TestEachRowOnce(t *testing.T) {
	for n := range cases(t, 1000) {
		c := randomCase(t, n)
		seen := map[testRow]bool{}
		for _, row := range epochRows(t, c.e) {
			if seen[row] {
				t.Fatalf("case %d (%s): row %v twice", n, c.name, row)
			}
			if row.row < 0 || row.row >= c.plan.manifest.Groups[row.group].Rows {
				t.Fatalf("case %d: no row %v", n, row)
			}
			seen[row] = true
		}
		if int64(len(seen)) != c.plan.Rows() {
			t.Fatalf("case %d (%s): %d rows of %d", n, c.name, len(seen), c.plan.Rows())
		}
	}
}

func TestSeekGoesOn(t *testing.T) {
	for n := range cases(t, 500) {
		c := randomCase(t, n)
		r := newRNG("test", 2, n)
		l := c.e.Lane(int(r.below(uint64(c.plan.params.Lanes))))
		want := laneRows(l)
		for range 5 {
			row := r.below(uint64(len(want) + 1))
			it := l.Iter()
			it.SeekRow(int64(row))
			if it.row+it.skip != int64(row) {
				t.Fatalf("case %d: row %d after a seek to %d", n, it.row+it.skip, row)
			}
			var got []testRow
			var tick Tick
			orders := map[uint32][]uint32{}
			for it.Next(&tick) {
				if tick.Row != int64(row)+int64(len(got)) {
					t.Fatalf("case %d: tick %d begins at row %d, not %d", n, tick.Index, tick.Row, int64(row)+int64(len(got)))
				}
				got = appendPicks(got, l, &tick, orders)
			}
			if !slices.Equal(got, want[row:]) {
				t.Fatalf("case %d (%s): order after a seek to row %d of %d differs", n, c.name, row, len(want))
			}
			if len(orders) > 0 {
				t.Fatalf("case %d: %d units were never finished", n, len(orders))
			}
		}
	}
}

// OrderRows puts given numbers where RowOrder has the numbers of the span.
func TestOrderRows(t *testing.T) {
	for n := range uint64(30) {
		c := randomCase(t, n)
		l := c.e.Lane(0)
		for j := range l.Spans() {
			want := l.RowOrder(j, nil)
			rows := make([]uint32, len(want))
			for i := range rows {
				rows[i] = uint32(3*i + 5)
			}
			l.OrderRows(j, rows)
			for i := range want {
				want[i] = 3*want[i] + 5
			}
			if !slices.Equal(rows, want) {
				t.Fatalf("%s: span %d has the rows in the order %v, want %v", c.name, j, rows, want)
			}
		}
	}
}
