package shuffle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// reads are the line lanes that each node reads.
func reads(t *testing.T, nodes []NodeLanes, seats Seats, lanes int) [][]bool {
	t.Helper()
	if err := seats.Validate(lanes); err != nil {
		t.Fatal(err)
	}
	world := worldOf(nodes)
	lineAt := invert(seats)
	if seats == nil {
		lineAt = sequence(lanes)
	}
	all := make([][]bool, len(nodes))
	for k, n := range nodes {
		all[k] = make([]bool, lanes)
		for _, r := range n.Ranks {
			for at := r * lanes / world; at*world < (r+1)*lanes; at++ {
				all[k][lineAt[at]] = true
			}
		}
	}
	return all
}

func bitsOf(held []bool) []byte {
	if held == nil {
		return nil
	}
	b := make([]byte, (len(held)+7)/8)
	for lane, yes := range held {
		if yes {
			b[lane/8] |= 1 << (lane % 8)
		}
	}
	return b
}

// keptShare is the share of their reads that nodes find in their caches, and the most that it can
// be where no two caches hold one lane.
func keptShare(nodes []NodeLanes, reads [][]bool) (kept, most float64) {
	var hits, could, all int
	for k, n := range nodes {
		held, read := 0, 0
		for lane, yes := range reads[k] {
			if yes {
				read++
			}
			if n.holds(lane) {
				held++
				if yes {
					hits++
				}
			}
		}
		could, all = could+min(held, read), all+read
	}
	return float64(hits) / float64(all), float64(could) / float64(all)
}

// Nodes come, go, change places and have more or fewer ranks, again and again: they keep as much of
// what they hold as they have places for, except the places that two of them share.
func TestSeatingKeepsLanes(t *testing.T) {
	for n := range cases(t, 60) {
		r := newRNG("test", 8, n)
		counts := make([]int, 2+r.below(12))
		for k := range counts {
			counts[k] = 1 + int(r.below(4))
		}
		nodes := seated(counts...)
		lanes := worldOf(nodes)*(1+int(r.below(16))) + int(r.below(3))
		held := reads(t, nodes, nil, lanes)
		for range 8 {
			nodes = nextWorld(&r, held)
			world := worldOf(nodes)
			if world > lanes {
				break
			}
			seats, err := SeatLanes(lanes, world, nodes)
			if err != nil {
				t.Fatal(err)
			}
			held = reads(t, nodes, seats, lanes)
			kept, most := keptShare(nodes, held)
			if edges := 2 * float64(len(nodes)) / float64(lanes); kept < most-edges-1e-9 {
				t.Fatalf("case %d: %d lanes on %d nodes: %.3f is kept, %.3f could be, edges are %.3f", n, lanes, len(nodes), kept, most, edges)
			}
			again, err := SeatLanes(lanes, world, nodes)
			if err != nil || !reflect.DeepEqual(again, seats) {
				t.Fatalf("case %d: other seats of the same nodes, %v", n, err)
			}
		}
	}
}

// nextWorld is the next world of nodes that hold these lanes: some are lost, some join, others sort
// elsewhere, and numbers of ranks change.
func nextWorld(r *rng, held [][]bool) []NodeLanes {
	var kept [][]bool
	for _, lanes := range held {
		if r.below(5) > 0 {
			kept = append(kept, lanes)
		}
	}
	for range r.below(4) {
		kept = append(kept, nil)
	}
	if len(kept) == 0 {
		kept = [][]bool{nil}
	}
	if r.below(2) == 0 {
		shuffle(r, kept)
	}
	counts := make([]int, len(kept))
	for k := range counts {
		counts[k] = 1 + int(r.below(4))
	}
	nodes := seated(counts...)
	for k := range nodes {
		nodes[k].Held = bitsOf(kept[k])
	}
	return nodes
}

// The table of changes with 64 lanes a node, as the views of the ranks read them.
func TestSeatingTable(t *testing.T) {
	const nodes, ranks, perNode = 16, 8, 64
	lanes := nodes * perNode
	p := newPlan(t, manifestOf([]int64{1 << 20}), Options{Buffer: 10_000, Lanes: lanes, UnitRows: 64}, 1)
	before := reads(t, seated(slices.Repeat([]int{ranks}, nodes)...), nil, lanes)
	pick := func(from ...int) (held [][]bool) {
		for _, k := range from {
			if k < 0 {
				held = append(held, nil)
			} else {
				held = append(held, before[k])
			}
		}
		return held
	}
	epoch, line := p.Epoch(0), sequence(nodes)
	mixed := slices.Clone(line)
	r := newRNG("test", 9)
	shuffle(&r, mixed)
	for _, c := range []struct {
		name  string
		held  [][]bool
		least float64 // of the reads of nodes that stay
		again float64 // of the data: the most that all nodes fetch
	}{
		{"the same nodes, others first", pick(mixed...), 1, 0},
		{"the first lost, another sorts last", pick(append(slices.Clone(line[1:]), -1)...), 1, 1.05 / nodes},
		{"one in the middle replaced", pick(slices.Replace(slices.Clone(line), 7, 8, -1)...), 1, 1.05 / nodes},
		{"16 to 15", pick(slices.Delete(slices.Clone(line), 6, 7)...), 0.92, 0.08},
		{"16 to 12", pick(mixed[:12]...), 0.735, 0.27},
		{"16 to 20", pick(append(slices.Clone(line), -1, -1, -1, -1)...), 0.96, 0.22},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := seated(slices.Repeat([]int{ranks}, len(c.held))...)
			for k := range now {
				now[k].Held = bitsOf(c.held[k])
			}
			world := worldOf(now)
			seats, err := SeatLanes(lanes, world, now)
			if err != nil {
				t.Fatal(err)
			}
			batch := int64(world * 256) // a multiple of the lanes: all steps take from the same ones
			var hits, all, total int
			for k, n := range now {
				read := map[int]bool{}
				for _, rank := range n.Ranks {
					v, err := p.SeatedView(Worker{Rank: rank, WorldSize: world}, seats, batch)
					if err != nil {
						t.Fatal(err)
					}
					for _, slot := range v.Slots(epoch, 0, 4*batch, batch) {
						read[p.lineOf[slot]] = true
					}
				}
				total += len(read)
				if c.held[k] == nil {
					continue
				}
				all += len(read)
				for lane := range read {
					if c.held[k][lane] {
						hits++
					}
				}
			}
			if share := float64(hits) / float64(all); share < c.least {
				t.Errorf("%.3f of what nodes read was theirs, want %.3f", share, c.least)
			}
			if read := float64(total) / float64(lanes); read > 1.02 {
				t.Errorf("nodes read %.3f times the lanes", read)
			}
			if again := float64(total-hits) / float64(lanes); again > c.again {
				t.Errorf("%.3f of the data is fetched again, want at most %.3f", again, c.again)
			}
			t.Logf("%.3f of the reads of nodes that stay is theirs, %.3f of the data is fetched, %.3f is read",
				float64(hits)/float64(all), float64(total-hits)/float64(lanes), float64(total)/float64(lanes))
		})
	}
}

// Where caches hold the same lanes, no other seats keep more.
func TestSeatingIsTheBest(t *testing.T) {
	for n := range cases(t, 150) {
		r := newRNG("test", 10, n)
		lanes := 2 + int(r.below(5))
		nodes := seated(slices.Repeat([]int{1}, []int{1, 2, lanes}[r.below(3)])...)
		if lanes%len(nodes) != 0 {
			continue
		}
		for k := range nodes {
			held := make([]bool, lanes)
			for lane := range lanes {
				held[lane] = r.below(2) == 0
			}
			nodes[k].Held = bitsOf(held)
		}
		best := 0.0
		every(sequence(lanes), 0, func(seats []int) {
			kept, _ := keptShare(nodes, reads(t, nodes, seats, lanes))
			best = max(best, kept)
		})
		seats, err := SeatLanes(lanes, len(nodes), nodes)
		if err != nil {
			t.Fatal(err)
		}
		if kept, _ := keptShare(nodes, reads(t, nodes, seats, lanes)); kept < best {
			t.Errorf("case %d: %v keep %.3f, %.3f is possible for %v", n, seats, kept, best, nodes)
		}
	}
}

// every permutation of a from i on.
func every(a []int, i int, use func([]int)) {
	if i == len(a) {
		use(a)
		return
	}
	for j := i; j < len(a); j++ {
		a[i], a[j] = a[j], a[i]
		every(a, i+1, use)
		a[i], a[j] = a[j], a[i]
	}
}

func TestSeatingNeedsNone(t *testing.T) {
	for _, c := range []struct {
		lanes int
		ranks []int
	}{{64, []int{4, 4}}, {67, []int{3, 2, 5}}, {4, []int{2, 2, 2}}, {1, []int{1}}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			nodes := seated(c.ranks...)
			for pass := range 2 { // nothing is held, then what the line gives
				if seats, err := SeatLanes(c.lanes, worldOf(nodes), nodes); err != nil || seats != nil {
					t.Fatalf("pass %d: %v, %v", pass, seats, err)
				}
				for k, held := range reads(t, nodes, nil, c.lanes) {
					nodes[k].Held = bitsOf(held)
				}
			}
		})
	}
}

// Without seats 4 ranks do not have blocks of 12 lanes: nodes that hold blocks need seats to keep
// them.
func TestSeatingOfBlocks(t *testing.T) {
	nodes := seated(2, 2)
	for k, held := range reads(t, nodes, nil, 12) {
		nodes[k].Held = bitsOf(held)
	}
	if seats, err := SeatLanes(12, 4, nodes); err != nil || !slices.Equal(seats, sequence(12)) {
		t.Errorf("%v, %v", seats, err)
	}
}

// Two nodes share the place in the middle: it gets a lane that one of them holds.
func TestSeatingOfSharedPlaces(t *testing.T) {
	nodes := seated(1, 1)
	nodes[0].Held = bitsOf([]bool{true, false, true})
	if seats, err := SeatLanes(3, 2, nodes); err != nil || !slices.Equal(seats, Seats{0, 2, 1}) {
		t.Errorf("%v, %v", seats, err)
	}
	nodes[1].Held = bitsOf([]bool{false, false, true}) // and then the one that both hold
	nodes[0].Held = bitsOf([]bool{true, true, true})
	if seats, err := SeatLanes(3, 2, nodes); err != nil || seats != nil {
		t.Errorf("%v, %v", seats, err)
	}
}

func TestSeatingRefused(t *testing.T) {
	two := seated(1, 1)
	for _, c := range []struct {
		lanes, world int
		nodes        []NodeLanes
		text         string
	}{
		{0, 2, two, "lanes: must be from 1"},
		{4, 0, nil, "world_size: must be from 1"},
		{4, 3, two, "lack rank 2 of 3"},
		{4, 1, two, "have rank 1 in a world of 1"},
		{4, 2, []NodeLanes{{Ranks: []int{0, 1}}, {Ranks: []int{1}}}, "have rank 1 twice, on nodes 0 and 1"},
		{4, 2, []NodeLanes{{Ranks: []int{0, 1}, Held: make([]byte, 2)}}, "say in 2 bytes what node 0 holds, and 4 lanes have 1"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if _, err := SeatLanes(c.lanes, c.world, c.nodes); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %q", err, c.text)
			}
		})
	}
}
