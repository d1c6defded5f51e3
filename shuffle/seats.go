package shuffle

// Seats assign lanes to ranks: line lane -> place, a permutation of the lanes. Ranks divide the
// lanes in the order of their places, or of the line if Seats is nil. A step has the same rows with
// any seats, so they change neither the order nor a state and may differ after each start. All
// ranks must have the same.
type Seats []int

// leastRowsPerLane is the least rows of a step per lane with which ranks divide seated lanes by
// blocks of rows. With fewer the edges of the blocks would wander over many lanes, whose order no
// longer spreads a step evenly.
const leastRowsPerLane = 16

// Validate checks that the seats are nil or a permutation of the given number of lanes.
func (s Seats) Validate(lanes int) error {
	if s == nil {
		return nil
	}
	if len(s) != lanes {
		return refuse("seats", "are %d, for %d lanes", len(s), lanes)
	}
	taken := make([]bool, lanes)
	for line, place := range s {
		if place < 0 || place >= lanes {
			return refuse("seats", "put line lane %d at place %d of %d", line, place, lanes)
		}
		if taken[place] {
			return refuse("seats", "put two lanes at place %d", place)
		}
		taken[place] = true
	}
	return nil
}

// usable reports whether ranks can take whole lanes of a step of globalBatch rows, or blocks of
// rows from few lanes.
func usable(lanes, worldSize int, globalBatch int64) bool {
	whole := lanes%worldSize == 0 && globalBatch%int64(lanes) == 0
	return whole || globalBatch >= leastRowsPerLane*int64(lanes)
}

// SeatedView returns the view of a worker on steps of globalBatch rows with seats. If the steps
// have too few rows for seats, which holds on all ranks alike, it is the view without.
func (p *Plan) SeatedView(w Worker, seats Seats, globalBatch int64) (*View, error) {
	v, err := p.View(w)
	if err != nil || seats == nil {
		return v, err
	}
	if err := seats.Validate(v.lanes); err != nil {
		return nil, err
	}
	if !usable(v.lanes, v.worker.WorldSize, globalBatch) {
		return v, nil
	}
	v.order = make([]int, v.lanes)
	for line, place := range seats {
		v.order[place] = v.slotOf[line]
	}
	v.rankSlots, v.workerSlots = residue{}, residue{}
	if globalBatch%int64(v.lanes) == 0 {
		v.own()
	}
	return v, nil
}

// own gives whole lanes to the worker if they divide evenly, or else to its rank.
func (v *View) own() {
	w := v.worker
	if v.lanes%w.WorldSize != 0 {
		return
	}
	per := v.lanes / w.WorldSize
	from := per * w.Rank
	if per%w.Workers == 0 {
		v.alone = true
		per /= w.Workers
		from += per * w.Worker
	}
	v.owned = make([]bool, v.lanes)
	for _, slot := range v.order[from : from+per] {
		v.owned[slot] = true
	}
}
