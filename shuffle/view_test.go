package shuffle

import (
	"fmt"
	"slices"
	"testing"
)

// shareRows resolves a worker's share of a step into rows, by seeking each lane.
func shareRows(t testing.TB, v *View, e *Epoch, pos, rows int64, byLane [][]testRow) []testRow {
	t.Helper()
	var s Share
	v.Step(e, pos, rows, &s)
	if n := v.Rows(e, pos, rows); n != int64(len(s.Order)) {
		t.Fatalf("Rows counts %d rows of the step, Step lists %d", n, len(s.Order))
	}
	next := make([]int64, len(s.Takes))
	out := make([]testRow, len(s.Order))
	for k, i := range s.Order {
		take := s.Takes[i]
		out[k] = byLane[take.Slot][take.From+next[i]]
		next[i]++
	}
	for i, take := range s.Takes {
		if next[i] != take.Rows || take.Rows == 0 {
			t.Fatalf("take %+v: %d rows ordered", take, next[i])
		}
	}
	return out
}

func lanesOf(e *Epoch) [][]testRow {
	out := make([][]testRow, e.plan.params.Lanes)
	for slot := range out {
		out[slot] = laneRows(e.Lane(slot))
	}
	return out
}

// In any world and with any workers, the rows of a step are those of its positions; the batches are
// equal and in ascending position, and a rank's rows do not depend on its workers.
func TestStepsAreTheSameInAnyWorld(t *testing.T) {
	for n := range cases(t, 200) {
		c := randomCase(t, 1000+n)
		order, byLane := epochRows(t, c.e), lanesOf(c.e)
		position := map[testRow]int{}
		for p, row := range order {
			position[row] = p
		}
		r := newRNG("test", 5, n)
		for pos := int64(0); pos < c.plan.Rows(); {
			world, workers := 1+int(r.below(20)), 1+int(r.below(4)) // another world in each step
			batch := 1 + int64(r.below(40))
			rows := min(batch*int64(world), c.plan.Rows()-pos)
			label := fmt.Sprintf("case %d (%s), world %d", n, c.name, world)
			ranks := expectStep(t, label, Worker{WorldSize: world, Workers: workers}, pos, rows, func(w Worker) []int {
				return sharePositions(t, c, w, pos, rows, byLane, position)
			})
			for rank, got := range ranks {
				if full := rows == batch*int64(world); full && int64(len(got)) != batch {
					t.Fatalf("%s: rank %d has %d rows, not %d", label, rank, len(got), batch)
				}
				if least := rows / int64(world); int64(len(got)) < least || int64(len(got)) > least+1 {
					t.Fatalf("%s: rank %d has %d rows of %d", label, rank, len(got), rows)
				}
			}
			pos += rows
		}
	}
}

// expectStep checks that the rows of a step have its positions, and that a rank's rows do not depend
// on its workers. of returns the positions of a worker's rows. It returns the positions by rank.
func expectStep(t *testing.T, label string, w Worker, pos, rows int64, of func(Worker) []int) (ranks [][]int) {
	t.Helper()
	workers := w.Workers
	var all []int
	for w.Rank = range w.WorldSize {
		w.Worker, w.Workers = 0, 0
		whole := of(w)
		var parts []int
		for w.Workers = workers; w.Worker < workers; w.Worker++ {
			parts = append(parts, of(w)...)
		}
		if slices.Sort(parts); !slices.Equal(parts, whole) {
			t.Fatalf("%s: %d workers of rank %d have %v, the rank has %v", label, workers, w.Rank, parts, whole)
		}
		ranks, all = append(ranks, whole), append(all, whole...)
	}
	slices.Sort(all)
	for i, p := range all {
		if int64(p) != pos+int64(i) || int64(len(all)) != rows {
			t.Fatalf("%s: the step at %d of %d rows has %v", label, pos, rows, all)
		}
	}
	return ranks
}

// sharePositions are the positions of a worker's rows in a step; see viewPositions.
func sharePositions(t *testing.T, c orderCase, w Worker, pos, rows int64, byLane [][]testRow, position map[testRow]int) []int {
	t.Helper()
	v, err := c.plan.View(w)
	if err != nil {
		t.Fatal(err)
	}
	return viewPositions(t, c, v, rows, pos, rows, byLane, position)
}

// viewPositions are the positions of a view's rows in steps of g, which must ascend and come from
// the lanes that Slots names.
func viewPositions(t *testing.T, c orderCase, v *View, g, pos, rows int64, byLane [][]testRow, position map[testRow]int) []int {
	t.Helper()
	slots := v.Slots(c.e, pos, pos+rows, g)
	var out []int
	for _, row := range shareRows(t, v, c.e, pos, rows, byLane) {
		p := position[row]
		out = append(out, p)
		if !slices.Contains(slots, c.e.Slot(int64(p))) {
			t.Fatalf("%s: %+v reads lane %d, Slots has %v", c.name, v.worker, c.e.Slot(int64(p)), slots)
		}
	}
	if !slices.IsSorted(out) {
		t.Fatalf("%s: %+v has its rows in the order %v", c.name, v.worker, out)
	}
	return out
}

// Slots over a whole epoch are the lanes that its steps take, no more and no fewer.
func TestSlotsOfAnEpoch(t *testing.T) {
	for n := range cases(t, 200) {
		c := randomCase(t, 2000+n)
		r := newRNG("test", 6, n)
		w := Worker{WorldSize: 1 + int(r.below(20)), Workers: 1 + int(r.below(4))}
		w.Rank, w.Worker = int(r.below(uint64(w.WorldSize))), int(r.below(uint64(w.Workers)))
		v, err := c.plan.View(w)
		if err != nil {
			t.Fatal(err)
		}
		g := int64(w.WorldSize) * int64(1+r.below(9))
		from := int64(r.below(uint64(c.plan.Rows() + 1)))
		want := map[int]bool{}
		var s Share
		for pos := from; pos < c.plan.Rows(); pos += g {
			v.Step(c.e, pos, min(g, c.plan.Rows()-pos), &s)
			for _, take := range s.Takes {
				want[take.Slot] = true
			}
		}
		got := v.Slots(c.e, from, c.plan.Rows(), g)
		for _, slot := range got {
			if !want[slot] {
				t.Errorf("case %d (%s): %+v never reads lane %d of %v", n, c.name, w, slot, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("case %d (%s): %+v reads the lanes %v, Slots has %v", n, c.name, w, want, got)
		}
	}
}

// Ranks and workers own whole lanes, in one run, when they divide them in the order of the radices.
func TestWorkersOwnRunsOfLanes(t *testing.T) {
	m := manifestOf([]int64{100_000})
	for _, c := range []struct{ lanes, world, workers int }{
		{64, 8, 1}, {64, 8, 4}, {64, 1, 64}, {64, 64, 1}, {48, 3, 1}, {48, 3, 4}, {48, 6, 8}, {48, 12, 2}, {60, 15, 2}, {60, 3, 5}, {1, 1, 1}, {7, 7, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			p := newPlan(t, m, Options{Buffer: 10_000, Lanes: c.lanes}, 1)
			e := p.Epoch(0)
			per := c.lanes / c.world / c.workers
			for i := range c.world * c.workers {
				v, err := p.View(Worker{Rank: i / c.workers, WorldSize: c.world, Worker: i % c.workers, Workers: c.workers})
				if err != nil {
					t.Fatal(err)
				}
				slots := v.Slots(e, 0, p.Rows(), int64(c.world)*10)
				if !v.Exclusive() || len(slots) != per {
					t.Fatalf("%+v: worker %d has %d lanes, not %d", c, i, len(slots), per)
				}
				for k, slot := range slots {
					if p.lineOf[slot] != i*per+k {
						t.Fatalf("%+v: worker %d has line lane %d, not %d", c, i, p.lineOf[slot], i*per+k)
					}
				}
			}
		})
	}
}

func TestReverseDigits(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int
	}{
		{1, []int{0}},
		{2, []int{0, 1}},
		{8, []int{0, 4, 2, 6, 1, 5, 3, 7}},
		{6, []int{0, 2, 4, 1, 3, 5}}, // radices 3, 2
		{9, []int{0, 3, 6, 1, 4, 7, 2, 5, 8}},
	} {
		t.Run(fmt.Sprintf("%+v", c.n), func(t *testing.T) {
			if got := reverseDigits(c.n); !slices.Equal(got, c.want) {
				t.Errorf("%d: %v, want %v", c.n, got, c.want)
			}
		})
	}
	for n := 1; n <= 300; n++ {
		got := invert(invert(reverseDigits(n)))
		if slices.Sort(got); !slices.Equal(got, sequence(n)) {
			t.Fatalf("%d: no permutation", n)
		}
	}
}

func sequence(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	return a
}

func TestViewRefuses(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{10}), Options{}, 0)
	for _, w := range []Worker{{Rank: 1}, {Rank: -1}, {Rank: 8, WorldSize: 8}, {WorldSize: -1}, {Worker: 1}, {Worker: 2, Workers: 2}, {Workers: -2}} {
		if _, err := p.View(w); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{100_000, 100_000}), Options{Buffer: 50_000, UnitRows: 500}, 1)
	for _, world := range []int{8, 7} {
		v, err := p.View(Worker{Rank: 2, WorldSize: world})
		if err != nil {
			t.Fatal(err)
		}
		var s Share
		e, g := p.Epoch(0), int64(world*64)
		v.Step(e, 0, g, &s)
		v.Step(e, g, g, &s)
		if n := testing.AllocsPerRun(100, func() { v.Step(e, 3*g, g, &s) }); n > 0 {
			t.Errorf("world %d: %v allocations a step", world, n)
		}
	}
}
