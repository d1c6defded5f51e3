package shuffle

import (
	"errors"
	"math/bits"
)

// maxLife keeps rows * life^2 below 2^64 for units of fewer than 2^32 rows.
const maxLife = 65535

// Options are the parameters that a user chooses; a frozen rule derives the others from them and
// the units.
type Options struct {
	Buffer       int64  // rows of the shuffle buffer, over all ranks; see BufferRows
	WorldSize    int    // ranks at the start; 0 is 1
	MaxWorldSize int    // the largest world size whose ranks own whole lanes; 0 is WorldSize
	Lanes        int    // pins the number of lanes
	Start        Start  // "" is Filled
	Spread       int    // 0 is all
	Assign       Assign // "" is Sticky
	Tail         Tail   // "" is Drop
	UnitRows     int64  // as given to CutUnits
}

func (o Options) withDefaults() Options {
	o.Buffer = max(o.Buffer, 1)
	if o.WorldSize == 0 {
		o.WorldSize = 1
	}
	o.MaxWorldSize = max(o.MaxWorldSize, o.WorldSize)
	if o.Start == "" {
		o.Start = Filled
	}
	if o.Assign == "" {
		o.Assign = Sticky
	}
	if o.Tail == "" {
		o.Tail = Drop
	}
	return o
}

// Validate lists everything that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.WorldSize < 0 || o.WorldSize > maxLanes/2 {
		errs = append(errs, refuse("world_size", "must be from 1 to %d, got %d", maxLanes/2, o.WorldSize))
	}
	if o.MaxWorldSize < 0 || o.MaxWorldSize > maxLanes/2 {
		errs = append(errs, refuse("max_world_size", "must be from 1 to %d, got %d", maxLanes/2, o.MaxWorldSize))
	}
	if o.Lanes < 0 || o.Lanes > maxLanes {
		errs = append(errs, refuse("lanes", "must be from 1 to %d, got %d", maxLanes, o.Lanes))
	}
	return errors.Join(errs...)
}

// Params chooses the parameters for these units. The choice is a frozen function of its arguments.
func (o Options) Params(units Units) (Params, error) {
	if err := o.Validate(); err != nil {
		return Params{}, err
	}
	o = o.withDefaults()
	s := measure(units)
	p := Params{Lanes: o.Lanes, Buffer: o.Buffer, Start: o.Start, Spread: o.Spread, Assign: o.Assign, Tail: o.Tail, UnitRows: o.UnitRows}
	if p.Lanes == 0 {
		p.Lanes = chooseLanes(s, o)
	}
	p.Quantum = max(1, s.laneMean(p.Lanes)/8)
	p.Life = chooseLife(s, p)
	return p, p.Validate()
}

// chooseLanes: the odd part of the world size, doubled while lanes stay at most 64, an eighth of
// the units, and small enough to hold four of the largest unit; then doubled until every rank of
// the largest world has one.
func chooseLanes(s sizes, o Options) int {
	lanes := int64(o.WorldSize >> bits.TrailingZeros(uint(o.WorldSize)))
	for s.units > 0 && 2*lanes <= min(64, s.units/8, o.Buffer/4/s.largest) {
		lanes *= 2
	}
	for lanes < int64(o.MaxWorldSize) {
		lanes *= 2
	}
	return int(lanes)
}

// chooseLife: the longest life whose bound keeps within a lane's share of the buffer, at least 1.
func chooseLife(s sizes, p Params) int64 {
	lanes := int64(p.Lanes)
	unit := p.laneUnit(s.rows, s.largest)
	lo, hi := int64(1), min(mulDiv(3, s.rows/lanes+1, p.Quantum), maxLife)+3 // enough to hold a whole lane
	hi = max(1, min(hi, maxLife))
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if laneBound(p.Quantum, mid, unit) <= p.Buffer/lanes {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// sizes summarize the units for the rule.
type sizes struct {
	units, rows, largest int64
}

func measure(units Units) sizes {
	if units.list == nil {
		return units.sizes
	}
	var s sizes
	for _, u := range units.list {
		if n := u.Samples; n > 0 {
			s.units++
			s.rows += n
			s.largest = max(s.largest, n)
		}
	}
	return s
}

// laneMean is the mean unit of a lane, which cuts what is larger than itself.
func (s sizes) laneMean(lanes int) int64 {
	if s.units == 0 {
		return 1
	}
	return min(max(1, s.rows/s.units), ceilDiv(s.rows, int64(lanes)))
}
