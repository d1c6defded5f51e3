package shuffle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// seated is a world of nodes with so many ranks each, from rank 0 on.
func seated(ranks ...int) []NodeLanes {
	var all []NodeLanes
	r := 0
	for _, n := range ranks {
		var node NodeLanes
		for range n {
			node.Ranks = append(node.Ranks, r)
			r++
		}
		all = append(all, node)
	}
	return all
}

func worldOf(nodes []NodeLanes) (ranks int) {
	for _, n := range nodes {
		ranks += len(n.Ranks)
	}
	return ranks
}

func someSeats(r *rng, lanes int) Seats {
	seats := Seats(sequence(lanes))
	shuffle(r, seats)
	return seats
}

// With any seats, in any world and with any workers, the ranks' views make the step, in batches of
// one size and in ascending position: those of views without seats, in the same order.
func TestSeatsKeepTheSteps(t *testing.T) {
	used := 0
	for n := range cases(t, 120) {
		c := randomCase(t, 4000+n)
		order, byLane := epochRows(t, c.e), lanesOf(c.e)
		position := map[testRow]int{}
		for p, row := range order {
			position[row] = p
		}
		r := newRNG("test", 7, n)
		lanes := c.plan.params.Lanes
		seats := someSeats(&r, lanes)
		for pos := int64(0); pos < c.plan.Rows(); {
			world, workers := 1+int(r.below(12)), 1+int(r.below(4))
			g := int64(world) * int64(1+r.below(40))
			if r.below(2) == 0 { // whole rounds over the lanes
				g = int64(lanes*world) * int64(1+r.below(3))
			}
			rows := min(g, c.plan.Rows()-pos)
			label := fmt.Sprintf("case %d (%s), world %d", n, c.name, world)
			ranks := expectStep(t, label, Worker{WorldSize: world, Workers: workers}, pos, rows, func(w Worker) []int {
				return seatedPositions(t, c, w, seats, g, pos, rows, byLane, position)
			})
			for rank, got := range ranks {
				if rows == g && int64(len(got)) != g/int64(world) || int64(len(got)) > g/int64(world) {
					t.Fatalf("%s: rank %d has %d rows of %d", label, rank, len(got), rows)
				}
			}
			if usable(lanes, world, g) {
				used++
			}
			pos += rows
		}
	}
	if used == 0 {
		t.Error("no seats were used")
	}
}

// seatedPositions are the positions of a worker's rows with seats; see viewPositions.
func seatedPositions(t *testing.T, c orderCase, w Worker, seats Seats, g, pos, rows int64, byLane [][]testRow, position map[testRow]int) []int {
	t.Helper()
	v, err := c.plan.SeatedView(w, seats, g)
	if err != nil {
		t.Fatal(err)
	}
	return viewPositions(t, c, v, g, pos, rows, byLane, position)
}

// The seats of the line's order divide lanes among ranks as blocks of the line do.
func TestSeatsOfTheLine(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{100_000}), Options{Buffer: 10_000, Lanes: 60}, 1)
	for _, world := range []int{1, 4, 7, 15, 60} {
		t.Run(fmt.Sprint(world), func(t *testing.T) {
			g := int64(world) * 960
			for rank := range world {
				v, err := p.SeatedView(Worker{Rank: rank, WorldSize: world}, sequence(60), g)
				if err != nil {
					t.Fatal(err)
				}
				from, to := rank*60/world, ((rank+1)*60+world-1)/world
				var lines []int
				for _, slot := range v.Slots(p.Epoch(0), 0, g, g) {
					lines = append(lines, p.lineOf[slot])
				}
				if !slices.Equal(lines, sequence(60)[from:to]) {
					t.Errorf("rank %d has the line lanes %v, want %d to %d", rank, lines, from, to)
				}
			}
		})
	}
}

// Steps of few rows of each lane are divided as without seats.
func TestSeatsOfSmallSteps(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{100_000}), Options{Buffer: 10_000, Lanes: 64}, 1)
	for _, c := range []struct {
		world int
		g     int64
		used  bool
	}{
		{8, 64, true}, {8, 128, true}, {8, 96, false}, {8, 1032, true}, {8, 8, false}, {6, 96, false}, {6, 1026, true}, {6, 1020, false}, {128, 64, false},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			seats := Seats(sequence(64))
			slices.Reverse(seats)
			v, err := p.SeatedView(Worker{WorldSize: c.world}, seats, c.g)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := p.View(Worker{WorldSize: c.world})
			if err != nil {
				t.Fatal(err)
			}
			e := p.Epoch(0)
			if same := slices.Equal(v.Slots(e, 0, 10*c.g, c.g), plain.Slots(e, 0, 10*c.g, c.g)); same == c.used {
				t.Errorf("as without seats: %t", same)
			}
		})
	}
}

func TestSeatsRefused(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{1000}), Options{Buffer: 100, Lanes: 4}, 1)
	for text, seats := range map[string]Seats{
		"are 3, for 4 lanes":         {0, 1, 2},
		"put line lane 3 at place 4": {0, 1, 2, 4},
		"put line lane 0 at place -": {-1, 1, 2, 3},
		"put two lanes at place 1":   {0, 1, 1, 3},
	} {
		if _, err := p.SeatedView(Worker{}, seats, 64); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: %v, want %q", seats, err, text)
		}
	}
}

func TestSeatedStepAllocatesNothing(t *testing.T) {
	p := newPlan(t, manifestOf([]int64{100_000, 100_000}), Options{Buffer: 50_000, UnitRows: 500}, 1)
	seats := Seats(sequence(p.params.Lanes))
	slices.Reverse(seats)
	for _, world := range []int{8, 7} {
		v, err := p.SeatedView(Worker{Rank: 2, WorldSize: world}, seats, int64(world*512))
		if err != nil || v.order[0] == p.slotOf[0] {
			t.Fatal("no seats", err)
		}
		var s Share
		e, g := p.Epoch(0), int64(world*512)
		v.Step(e, 0, g, &s)
		v.Step(e, g, g, &s)
		if n := testing.AllocsPerRun(100, func() { v.Step(e, 3*g, g, &s) }); n > 0 {
			t.Errorf("world %d: %v allocations a step", world, n)
		}
	}
}
