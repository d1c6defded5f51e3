package shuffle

import (
	"errors"
	"slices"
	"testing"
)

// selectRows gives most units a selection: of few rows, of many, of all.
func selectRows(r *rng, units []Unit) []Unit {
	units = slices.Clone(units)
	for i := range units {
		u := &units[i]
		if r.below(5) == 0 {
			continue
		}
		of := 1 + r.below(6)
		for row := range uint32(u.Hi - u.Lo) {
			if r.below(of) == 0 {
				u.Selection = append(u.Selection, row)
			}
		}
		if u.Selection == nil {
			u.Selection = Selection{uint32(r.below(uint64(u.Hi - u.Lo)))}
		}
	}
	return units
}

// selectedCase is a random case some of whose rows are selected.
func selectedCase(t testing.TB, n uint64) orderCase {
	t.Helper()
	c := randomCase(t, n)
	r := newRNG("test", 30, n)
	units := selectRows(&r, c.plan.units)
	params, err := c.options.Params(units)
	if err != nil {
		t.Fatal(err)
	}
	if c.plan, err = New(c.plan.manifest, units, params, c.plan.seed); err != nil {
		t.Fatal(err)
	}
	c.e, c.name = c.plan.Epoch(c.e.number), params.String()
	return c
}

// Each selected row comes once and no other does, and the lanes keep their word about ticks and memory.
func TestSelectedRowsOnce(t *testing.T) {
	for n := range cases(t, 500) {
		c := selectedCase(t, 6000+n)
		left := map[testRow]bool{}
		for _, u := range c.plan.units {
			for i := range u.Rows() {
				row := testRow{u.Group, u.Lo + i}
				if u.Selection != nil {
					row.row = u.Lo + int64(u.Selection[i])
				}
				left[row] = true
			}
		}
		for _, row := range epochRows(t, c.e) {
			if !left[row] {
				t.Fatalf("case %d (%s): row %v is not selected, or comes twice", n, c.name, row)
			}
			delete(left, row)
		}
		if len(left) > 0 {
			t.Fatalf("case %d (%s): %d selected rows do not come", n, c.name, len(left))
		}
		bound := c.plan.params.LaneBound(c.plan.sizes.rows, c.plan.sizes.largest)
		for slot := range c.plan.params.Lanes {
			l := c.e.Lane(slot)
			checkTicks(t, l)
			checkSpans(t, l)
			if peak := peakRows(l); peak > bound {
				t.Errorf("case %d (%s): lane %d holds %d rows, the bound is %d", n, c.name, slot, peak, bound)
			}
		}
	}
}

// checkSpans: the rows that a loader reads for a span begin and end with rows of it, and hold what is selected there.
func checkSpans(t *testing.T, l *Lane) {
	t.Helper()
	for j := range l.Spans() {
		s := l.Span(j)
		u := l.epoch.plan.units[s.Unit]
		if u.Selection == nil {
			if s.Hi-s.Lo != s.Rows() || u.Selected(s) != nil {
				t.Fatalf("span %+v of a unit without selection, %v of it", s, u.Selected(s))
			}
			continue
		}
		var want Selection
		for _, row := range u.Selection {
			if at := u.Lo + int64(row); at >= s.Lo && at < s.Hi {
				want = append(want, row)
			}
		}
		if got := u.Selected(s); !slices.Equal(got, want) || u.Lo+int64(got[0]) != s.Lo || u.Lo+int64(got[len(got)-1]) != s.Hi-1 {
			t.Fatalf("span %+v of unit %d..%d has %v, not %v", s, u.Lo, u.Hi, got, want)
		}
	}
}

// A lane of selected rows that is sought goes on as it would have, and the steps have the rows of their positions in any world.
func TestSeekInSelectedRows(t *testing.T) {
	for n := range cases(t, 200) {
		c := selectedCase(t, 7000+n)
		order, byLane := epochRows(t, c.e), lanesOf(c.e)
		position := map[testRow]int{}
		for p, row := range order {
			position[row] = p
		}
		r := newRNG("test", 31, n)
		l := c.e.Lane(int(r.below(uint64(c.plan.params.Lanes))))
		row := int64(r.below(uint64(l.Rows() + 1)))
		it, tick, orders := l.Iter(), Tick{}, map[uint32][]uint32{}
		it.SeekRow(row)
		var got []testRow
		for it.Next(&tick) {
			got = appendPicks(got, l, &tick, orders)
		}
		if !slices.Equal(got, byLane[l.slot][row:]) {
			t.Fatalf("case %d (%s): order after a seek to row %d of %d differs", n, c.name, row, l.Rows())
		}
		world, workers := 1+int(r.below(8)), 1+int(r.below(3))
		pos := int64(r.below(uint64(c.plan.Rows() + 1)))
		rows := min(int64(world)*7, c.plan.Rows()-pos)
		var all []int
		for i := range world * workers {
			w := Worker{Rank: i / workers, WorldSize: world, Worker: i % workers, Workers: workers}
			all = append(all, sharePositions(t, c, w, pos, rows, byLane, position)...)
		}
		slices.Sort(all)
		for i, p := range all {
			if int64(p) != pos+int64(i) || int64(len(all)) != rows {
				t.Fatalf("case %d (%s): %d ranks of %d workers have %v of the %d rows from %d", n, c.name, world, workers, all, rows, pos)
			}
		}
	}
}

// The order of selected rows, by number, is that of data which has no others.
func TestSelectedOrderIsThatOfTheRowsAlone(t *testing.T) {
	for n := range cases(t, 200) {
		c := selectedCase(t, 8000+n)
		alone := &Manifest{Shards: c.plan.manifest.Shards, Groups: slices.Clone(c.plan.manifest.Groups)}
		r := newRNG("test", 32, n)
		units := selectRows(&r, wholeUnits(t, alone, 0)) // each group one unit, so that lo is the same
		var kept []Unit
		for _, u := range units {
			alone.Groups[u.Group].Rows = u.Rows()
			kept = append(kept, Unit{Group: u.Group, Hi: u.Rows()})
		}
		params, err := c.options.Params(units)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := c.options.Params(kept); err != nil || p != params {
			t.Fatalf("case %d: %s for the selected rows, %s for them alone (%v)", n, params, p, err)
		}
		p, err := New(c.plan.manifest, units, params, 5)
		q, err2 := New(alone, kept, params, 5)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		selection := map[int]Selection{}
		for _, u := range units {
			selection[u.Group] = u.Selection
		}
		want := epochRows(t, q.Epoch(2))
		for i, row := range want {
			if s := selection[row.group]; s != nil {
				want[i].row = int64(s[row.row])
			}
		}
		if got := epochRows(t, p.Epoch(2)); !slices.Equal(got, want) {
			t.Fatalf("case %d (%s): the order differs", n, params)
		}
	}
}

// A state goes on with the selection under which it was taken, and with no other, shuffled or not.
func TestStateOfASelection(t *testing.T) {
	m := manifestOf([]int64{10, 20})
	params, err := Options{Buffer: 10}.Params(wholeUnits(t, m, 0))
	if err != nil {
		t.Fatal(err)
	}
	var states [][2]State
	selections := []Selection{nil, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 7}, {3, 8}, {3, 8, 9}}
	check := func(use func(p *Plan, q *Sequence)) {
		for _, s := range selections {
			units := wholeUnits(t, m, 0)
			units[0].Selection = s
			p, err := New(m, units, params, 1)
			q, err2 := NewSequence(m, units)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			use(p, q)
		}
	}
	check(func(p *Plan, q *Sequence) {
		var pair [2]State
		for i, s := range []State{p.State(0, 0, 4), q.State(1, 0, 0, 4)} {
			if pair[i], err = ParseState(s.JSON()); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, pair)
	})
	if states[0][1].Units != "" {
		t.Errorf("without selections the state has units %s", states[0][1].Units)
	}
	at := 0
	check(func(p *Plan, q *Sequence) {
		for i, s := range states {
			if err := s[0].Fits(p); (err == nil) != (i == at) {
				t.Errorf("selection %v: the state of %v fits: %v", selections[at], selections[i], err)
			}
			if err := s[1].FitsSequence(q); (err == nil) != (i == at) {
				t.Errorf("selection %v: the state without shuffle of %v fits: %v", selections[at], selections[i], err)
			}
		}
		at++
	})
}
