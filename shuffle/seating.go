package shuffle

import "slices"

// A NodeLanes is a node of a world and the line lanes in its cache.
type NodeLanes struct {
	Ranks []int
	Held  []byte // line lane i is bit i%8 of byte i/8; nil is empty
}

func (n NodeLanes) holds(lane int) bool { return n.Held != nil && n.Held[lane/8]>>(lane%8)&1 == 1 }

// SeatLanes seats lanes so that nodes read again the lanes that they have cached, as far as their
// ranks have places. It returns nil if the line's order already does that or nothing is cached.
// Each rank is on one node. The result depends only on the arguments.
//
// It matches lanes with nodes by augmenting paths: each node takes as many lanes as it has places
// of its own; places that two nodes share get lanes left over from these.
func SeatLanes(lanes, worldSize int, nodes []NodeLanes) (Seats, error) {
	if lanes < 1 || lanes > maxLanes {
		return nil, refuse("lanes", "must be from 1 to %d, got %d", maxLanes, lanes)
	}
	nodeOf, err := nodesOfRanks(lanes, worldSize, nodes)
	if err != nil {
		return nil, err
	}
	s := &seating{
		lanes: lanes, own: make([][]int, len(nodes)), holders: make([][]int, lanes),
		node: slices.Repeat([]int{-1}, lanes), taken: make([][]int, len(nodes)), dead: make([]bool, len(nodes)),
	}
	for k, n := range nodes {
		for lane := range lanes {
			if n.holds(lane) {
				s.holders[lane] = append(s.holders[lane], k)
			}
		}
	}
	s.divide(worldSize, nodeOf)
	s.match()
	seats := s.seats()
	if s.empty() || slices.Equal(seats, permLine(lanes)) && dividesByBlocks(lanes, worldSize) {
		return nil, nil
	}
	return seats, nil
}

// permLine is the seats of the line's order.
func permLine(lanes int) Seats {
	seats := make(Seats, lanes)
	for line := range seats {
		seats[line] = line
	}
	return seats
}

// dividesByBlocks reports whether ranks without seats have blocks of the line: the world size does
// not divide the lanes, or is a product of their first radices.
func dividesByBlocks(lanes, worldSize int) bool {
	if lanes%worldSize != 0 {
		return true
	}
	rankOf := reverseDigits(worldSize)
	for slot, line := range reverseDigits(lanes) {
		if line/(lanes/worldSize) != rankOf[slot%worldSize] {
			return false
		}
	}
	return true
}

// nodesOfRanks is the node of each rank.
func nodesOfRanks(lanes, worldSize int, nodes []NodeLanes) ([]int, error) {
	if worldSize < 1 || worldSize > maxLanes {
		return nil, refuse("world_size", "must be from 1 to %d, got %d", maxLanes, worldSize)
	}
	nodeOf := slices.Repeat([]int{-1}, worldSize)
	for k, n := range nodes {
		if bytes := (lanes + 7) / 8; n.Held != nil && len(n.Held) != bytes {
			return nil, refuse("nodes", "say in %d bytes what node %d holds, and %d lanes have %d", len(n.Held), k, lanes, bytes)
		}
		for _, r := range n.Ranks {
			if r < 0 || r >= worldSize {
				return nil, refuse("nodes", "have rank %d in a world of %d", r, worldSize)
			}
			if nodeOf[r] >= 0 {
				return nil, refuse("nodes", "have rank %d twice, on nodes %d and %d", r, nodeOf[r], k)
			}
			nodeOf[r] = k
		}
	}
	if r := slices.Index(nodeOf, -1); r >= 0 {
		return nil, refuse("nodes", "lack rank %d of %d", r, worldSize)
	}
	return nodeOf, nil
}

// A seating is the matching of lanes with places while it is computed.
type seating struct {
	lanes   int
	holders [][]int // lane -> the nodes whose caches hold it
	own     [][]int // node -> the places that only its ranks read
	shared  []place // that ranks of several nodes read

	node  []int   // lane -> node that takes it, or -1
	taken [][]int // node -> the lanes that it takes
	dead  []bool  // nodes from which no augmenting path leads to a free place
}

// A place that several nodes read.
type place struct {
	at    int
	nodes []int
}

// divide assigns places to the nodes that read them: rank r reads the places from lanes*r/W to
// lanes*(r+1)/W, which need not be whole.
func (s *seating) divide(worldSize int, nodeOf []int) {
	for at := range s.lanes {
		first, last := at*worldSize/s.lanes, ((at+1)*worldSize-1)/s.lanes
		readers := slices.Clone(nodeOf[first : last+1])
		slices.Sort(readers)
		if readers = slices.Compact(readers); len(readers) == 1 {
			s.own[readers[0]] = append(s.own[readers[0]], at)
		} else {
			s.shared = append(s.shared, place{at, readers})
		}
	}
}

// empty reports whether no node holds any lane.
func (s *seating) empty() bool {
	return !slices.ContainsFunc(s.holders, func(nodes []int) bool { return len(nodes) > 0 })
}

// match assigns lanes to nodes that hold them, first the lanes that only one node holds, which
// leave no choice.
func (s *seating) match() {
	var several []int
	for lane, held := range s.holders {
		if len(held) > 1 {
			several = append(several, lane)
		} else if len(held) == 1 && s.room(held[0]) {
			s.take(held[0], lane)
		}
	}
	for _, lane := range several {
		s.augment(lane)
	}
}

func (s *seating) room(node int) bool { return len(s.taken[node]) < len(s.own[node]) }

func (s *seating) take(node, lane int) {
	s.node[lane] = node
	s.taken[node] = append(s.taken[node], lane)
}

// augment finds a place for a lane at one of its holders, if need be by moving other lanes between
// nodes that hold them. Nodes seen by a failed search are dead: no later search finds room through
// them.
func (s *seating) augment(lane int) {
	type step struct{ node, lane, before int } // the lane would move to the node
	var path []step
	seen := map[int]bool{}
	visit := func(lane, before int) {
		for _, k := range s.holders[lane] {
			if !seen[k] && !s.dead[k] {
				seen[k] = true
				path = append(path, step{k, lane, before})
			}
		}
	}
	visit(lane, -1)
	for i := 0; i < len(path); i++ {
		at := path[i]
		if !s.room(at.node) {
			for _, l := range s.taken[at.node] {
				visit(l, i)
			}
			continue
		}
		for ; ; at = path[at.before] {
			if from := s.node[at.lane]; from >= 0 {
				j := slices.Index(s.taken[from], at.lane)
				s.taken[from] = slices.Delete(s.taken[from], j, j+1)
			}
			s.take(at.node, at.lane)
			if at.before < 0 {
				return
			}
		}
	}
	for k := range seen {
		s.dead[k] = true
	}
}

// seats puts the lanes at the places of their nodes, in the order of the line, and the others at
// the remaining places.
func (s *seating) seats() Seats {
	seats := slices.Repeat(Seats{-1}, s.lanes)
	var free []int // places
	for k, lanes := range s.taken {
		slices.Sort(lanes)
		own := s.own[k]
		for i, lane := range lanes {
			seats[lane] = own[i]
		}
		free = append(free, own[len(lanes):]...)
	}
	free = s.share(seats, free)
	slices.Sort(free)
	for lane := range seats {
		if seats[lane] < 0 {
			seats[lane], free = free[0], free[1:]
		}
	}
	return seats
}

// share gives each shared place the unseated lane that most of its nodes hold, or leaves it free.
func (s *seating) share(seats Seats, free []int) []int {
	left := make([][]int, len(s.own)) // node -> lanes that it holds
	for lane, held := range s.holders {
		if seats[lane] < 0 {
			for _, k := range held {
				left[k] = append(left[k], lane)
			}
		}
	}
	for _, p := range s.shared {
		held := map[int]int{}
		best := -1
		for _, k := range p.nodes {
			for _, lane := range left[k] {
				if seats[lane] >= 0 {
					continue
				}
				held[lane]++
				if best < 0 || held[lane] > held[best] || held[lane] == held[best] && lane < best {
					best = lane
				}
			}
		}
		if best < 0 {
			free = append(free, p.at)
		} else {
			seats[best] = p.at
		}
	}
	return free
}
