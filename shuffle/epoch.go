package shuffle

// Epoch is the order of one epoch: which rows each lane emits. Position p is the next row of the
// lane at slot (Offset+p) mod L. It is immutable and safe for concurrent use.
type Epoch struct {
	plan   *Plan
	number uint64
	offset int64 // o: 0, or (epoch * N) mod L under Carry, so that lanes run on over epochs
	shards []uint32
	cuts   []cut // line lane l is the units from cuts[l] to cuts[l+1]

	// Of a pass of a mixture.
	rows  []int64  // of each lane, by slot; nil: as its positions give
	lines [][]span // the remaining spans of each line lane of a pass that was cut again; they replace cuts
	rests uint64   // how often the rest of the pass was divided again
}

// cut is a place on the line of shuffled shards.
type cut struct {
	shard int   // index into Epoch.shards
	unit  int   // of the plan
	row   int64 // of the unit
}

// Epoch number e, from 0.
func (p *Plan) Epoch(e uint64) *Epoch {
	ep := p.newEpoch(e)
	if lanes := uint64(p.params.Lanes); p.params.Tail == Carry {
		ep.offset = int64((e % lanes) * (uint64(p.sizes.rows) % lanes) % lanes)
	}
	ep.cutLine()
	return ep
}

// epochOf returns an epoch whose lanes have the given numbers of rows, by slot.
func (p *Plan) epochOf(e uint64, rows []int64) *Epoch {
	ep := p.newEpoch(e)
	ep.rows = rows
	ep.cutLine()
	return ep
}

// newEpoch has no lanes yet.
func (p *Plan) newEpoch(e uint64) *Epoch {
	ep := &Epoch{plan: p, number: e, shards: p.sticky}
	if p.params.Assign == PerEpoch {
		ep.shards = p.shuffledShards(e)
	}
	return ep
}

// Number of the epoch.
func (e *Epoch) Number() uint64 { return e.number }

// Offset is o: the views count in o + position.
func (e *Epoch) Offset() int64 { return e.offset }

// Slot of the lane that position p comes from.
func (e *Epoch) Slot(p int64) int { return int((e.offset + p) % int64(e.plan.params.Lanes)) }

// LaneRows is the number of rows of the lane at a slot.
func (e *Epoch) LaneRows(slot int) int64 {
	if e.rows != nil {
		return e.rows[slot]
	}
	return e.RowsBefore(e.plan.sizes.rows, slot)
}

// RowsBefore returns the number of rows that the lane at a slot emits before position p, which is
// the lane row to resume at.
func (e *Epoch) RowsBefore(p int64, slot int) int64 {
	lanes := e.plan.params.Lanes
	return rowsBefore(e.offset+p, slot, lanes) - rowsBefore(e.offset, slot, lanes)
}

// rowsBefore counts the x' in [0, x) with x' mod lanes == slot.
func rowsBefore(x int64, slot, lanes int) int64 {
	if x <= int64(slot) {
		return 0
	}
	return (x-int64(slot)-1)/int64(lanes) + 1
}

// cutLine lays the shards on a line and cuts it into lanes, each with the rows of its slot. It
// walks the shards, and the units of those in which a cut falls.
func (e *Epoch) cutLine() {
	p := e.plan
	lanes := p.params.Lanes
	e.cuts = make([]cut, lanes+1)
	var end, before int64 // rows before the cut, and before the shard at
	at := 0
	for l := range lanes {
		e.cuts[l] = e.place(at, end-before)
		end += e.LaneRows(p.slotOf[l])
		for at < len(e.shards) && before+p.shardRows[e.shards[at]] <= end {
			before += p.shardRows[e.shards[at]]
			at++
		}
	}
	e.cuts[lanes] = e.place(at, end-before)
}

// place is the cut after rows of the shard at.
func (e *Epoch) place(at int, rows int64) cut {
	if at == len(e.shards) {
		return cut{shard: at}
	}
	u := e.plan.shardUnits[e.shards[at]]
	for rows > 0 {
		samples := e.plan.units.At(u).Samples
		if rows < samples {
			break
		}
		rows -= samples
		u++
	}
	return cut{shard: at, unit: u, row: rows}
}
