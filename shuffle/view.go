package shuffle

import "slices"

// Worker is one of Workers equal consumers in a rank, as torch.utils.data counts them, in one of
// WorldSize ranks.
type Worker struct {
	Rank, WorldSize int
	Worker, Workers int // 0 of 0 is 0 of 1: all of the rank
}

func (w Worker) withDefaults() Worker {
	if w.WorldSize == 0 {
		w.WorldSize = 1
	}
	if w.Workers == 0 {
		w.Workers = 1
	}
	return w
}

// Validate checks that rank and worker are in range.
func (w Worker) Validate() error {
	w = w.withDefaults()
	if w.WorldSize < 1 || w.Rank < 0 || w.Rank >= w.WorldSize {
		return refuse("rank", "%d is not a rank of %d", w.Rank, w.WorldSize)
	}
	if w.Workers < 1 || w.Worker < 0 || w.Worker >= w.Workers {
		return refuse("worker", "%d is not a worker of %d", w.Worker, w.Workers)
	}
	return nil
}

// View selects one worker's rows of every step. Ranks divide a step completely and without overlap,
// and so do the workers of a rank; the rows of a rank do not depend on its workers. See the package
// documentation for the exact division. A View is immutable and safe for concurrent use.
type View struct {
	worker Worker
	lanes  int
	slotOf []int // line lane -> slot
	order  []int // place -> slot: slotOf without seats

	rankSlots   residue // when the world size divides the lanes
	workerSlots residue // when world size x workers does

	// With seats, in place of the residues: the slots of the worker's lanes if they are exclusive,
	// else of its rank's. nil if ranks have blocks.
	owned []bool
	alone bool
}

// residue is the slots equal to at modulo mod; mod 0 means division by blocks.
type residue struct{ at, mod int }

// View of a worker on the epochs of this plan.
func (p *Plan) View(w Worker) (*View, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	w = w.withDefaults()
	v := &View{worker: w, lanes: p.params.Lanes, slotOf: p.slotOf, order: p.slotOf}
	if v.lanes%w.WorldSize == 0 {
		v.rankSlots = residue{at: invert(reverseDigits(w.WorldSize))[w.Rank], mod: w.WorldSize}
		if per := v.lanes / w.WorldSize; per%w.Workers == 0 {
			sub := invert(reverseDigits(w.Workers))[w.Worker]
			v.workerSlots = residue{at: v.rankSlots.at + w.WorldSize*sub, mod: w.WorldSize * w.Workers}
		}
	}
	return v, nil
}

// Exclusive reports whether no other worker reads this worker's lanes: world size x workers divides
// the number of lanes.
func (v *View) Exclusive() bool { return v.workerSlots.mod > 0 || v.alone }

// Take is a worker's part of one lane in one step: consecutive rows of the lane.
type Take struct {
	Slot int
	From int64 // lane row; under Carry rows from LaneRows on belong to the next epoch's lane at the slot
	Rows int64
}

// Share is a worker's part of a step, in ascending position: the k-th row of its batch is the next
// row of take Order[k]. Its slices are reused when it is passed to View.Step again.
type Share struct {
	Takes []Take
	Order []uint32

	windows []window // by slot
	rounds  []round
}

// window is the rows [lo, hi) of a lane's rows in the step.
type window struct{ lo, hi int64 }

type round struct {
	take uint32
	window
}

// Step computes the worker's share of the step of rows from position pos of the epoch on.
func (v *View) Step(e *Epoch, pos, rows int64, s *Share) {
	v.StepAt(e.offset+pos, rows, s)
	for i := range s.Takes {
		s.Takes[i].From -= rowsBefore(e.offset, s.Takes[i].Slot, v.lanes)
	}
}

// StepAt is Step from sample x of a mixture on: its takes are rows of the mixture's lanes.
func (v *View) StepAt(x, rows int64, s *Share) {
	s.Takes, s.Order, s.rounds = s.Takes[:0], s.Order[:0], s.rounds[:0]
	s.windows = slices.Grow(s.windows[:0], v.lanes)[:v.lanes]
	v.divide(x, rows, s.windows)
	for phase := range v.lanes {
		slot := int((x + int64(phase)) % int64(v.lanes))
		w := s.windows[slot]
		if w.lo == w.hi {
			continue
		}
		s.rounds = append(s.rounds, round{take: uint32(len(s.Takes)), window: w})
		s.Takes = append(s.Takes, Take{Slot: slot, From: rowsBefore(x, slot, v.lanes) + w.lo, Rows: w.hi - w.lo})
	}
	s.merge()
}

// Rows returns the number of the worker's rows in a step, as Step would list them, in time that
// does not depend on rows.
func (v *View) Rows(e *Epoch, pos, rows int64) int64 { return v.RowsAt(e.offset+pos, rows) }

// RowsAt is Rows from sample x of a mixture on.
func (v *View) RowsAt(x, rows int64) int64 {
	windows := make([]window, v.lanes)
	v.divide(x, rows, windows)
	var n int64
	for _, w := range windows {
		n += w.hi - w.lo
	}
	return n
}

// merge orders the rows of all takes by position: round after round over the lanes, in the order of
// their first positions.
func (s *Share) merge() {
	if len(s.rounds) == 0 {
		return
	}
	from, to := s.rounds[0].lo, s.rounds[0].hi
	for _, r := range s.rounds {
		from, to = min(from, r.lo), max(to, r.hi)
	}
	for n := from; n < to; n++ {
		for _, r := range s.rounds {
			if r.lo <= n && n < r.hi {
				s.Order = append(s.Order, r.take)
			}
		}
	}
}

// divide fills in the worker's window on each lane's rows of a step.
func (v *View) divide(x, rows int64, windows []window) {
	for slot := range windows {
		windows[slot] = window{hi: rowsBefore(x+rows, slot, v.lanes) - rowsBefore(x, slot, v.lanes)}
	}
	w := v.worker
	switch {
	case v.owned != nil:
		keepOwned(windows, v.owned)
		if v.alone {
			return
		}
	case v.workerSlots.mod > 0:
		keepResidue(windows, v.workerSlots)
		return
	case v.rankSlots.mod > 0:
		keepResidue(windows, v.rankSlots)
	default:
		v.keepBlock(windows, w.Rank, w.WorldSize)
	}
	v.keepBlock(windows, w.Worker, w.Workers)
}

func keepResidue(windows []window, r residue) {
	for slot := range windows {
		if slot%r.mod != r.at {
			windows[slot] = window{}
		}
	}
}

func keepOwned(windows []window, owned []bool) {
	for slot := range windows {
		if !owned[slot] {
			windows[slot] = window{}
		}
	}
}

// keepBlock sorts the rows of all windows by (place, row) and keeps block i of n: of c rows
// floor(c*i/n) up to floor(c*(i+1)/n).
func (v *View) keepBlock(windows []window, i, n int) {
	var all int64
	for _, w := range windows {
		all += w.hi - w.lo
	}
	from, to := mulDiv(all, int64(i), int64(n)), mulDiv(all, int64(i)+1, int64(n))
	for _, slot := range v.order {
		w := &windows[slot]
		rows := w.hi - w.lo
		w.lo, w.hi = w.lo+min(max(from, 0), rows), w.lo+min(max(to, 0), rows)
		from, to = from-rows, to-rows
	}
}

// Slots lists the slots of the lanes that the worker reads for the steps of globalBatch rows from
// position from to position to, which cuts the last one short. They are in the order of their line
// lanes, in which neighbours share a shard. The memory bound counts these lanes.
func (v *View) Slots(e *Epoch, from, to, globalBatch int64) []int {
	used := make([]bool, v.lanes)
	windows := make([]window, v.lanes)
	mark := func(pos, rows int64) {
		v.divide(e.offset+pos, rows, windows)
		for slot, w := range windows {
			used[slot] = used[slot] || w.lo < w.hi
		}
	}
	// The division repeats after as many steps as bring the first slot back. Without blocks one
	// cycle of the lanes shows all of it.
	full, cycle := (to-from)/globalBatch, int64(v.lanes)/gcd(int64(v.lanes), globalBatch)
	switch {
	case v.Exclusive():
		mark(from, min(to-from, int64(v.lanes)))
	default:
		for t := range min(full, cycle) {
			mark(from+t*globalBatch, globalBatch)
		}
		mark(from+full*globalBatch, (to-from)%globalBatch)
	}
	var out []int
	for _, slot := range v.slotOf {
		if used[slot] {
			out = append(out, slot)
		}
	}
	return out
}

// Reads lists the slots of the lanes that the worker may read in steps of any of the given numbers
// of rows, from any position, in the order of their line lanes.
func (v *View) Reads(rows ...int64) []int {
	used := make([]bool, v.lanes)
	windows := make([]window, v.lanes)
	for _, n := range rows {
		for x := range int64(v.lanes) { // the division repeats after the lanes
			v.divide(x, n, windows)
			for slot, w := range windows {
				used[slot] = used[slot] || w.lo < w.hi
			}
		}
	}
	var out []int
	for _, slot := range v.slotOf {
		if used[slot] {
			out = append(out, slot)
		}
	}
	return out
}

// Lines lists the line lanes that the worker reads in steps at multiples of globalBatch, ascending.
func (v *View) Lines(globalBatch int64) []int {
	used := make([]bool, v.lanes)
	for _, slot := range v.StepSlots(globalBatch) {
		used[slot] = true
	}
	var out []int
	for line, slot := range v.slotOf {
		if used[slot] {
			out = append(out, line)
		}
	}
	return out
}

// StepSlots lists the slots of the lanes that the worker reads in steps at multiples of
// globalBatch, in the order of their line lanes.
func (v *View) StepSlots(globalBatch int64) []int {
	return v.Slots(&Epoch{}, 0, int64(v.lanes)*globalBatch, globalBatch)
}
