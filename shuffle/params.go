package shuffle

import (
	"errors"
	"fmt"
	"math"
)

// The names of the orders that this package makes. An order never changes under its name.
const (
	Version    = "lane-tick/3"  // with shuffle
	Sequential = "sequential/1" // without
	Mixed      = "mix/4"        // of several sources
)

// OrderOf is the name of the order of one source, or of several.
func OrderOf(shuffled, mixed bool) string {
	switch {
	case mixed:
		return Mixed
	case shuffled:
		return Version
	}
	return Sequential
}

// earlier are names of orders that this package made and makes no more.
var earlier = []string{"lane-tick/1", "lane-tick/2", "mix/1", "mix/2", "mix/3"}

// Start selects how a lane fills.
type Start string

const (
	Filled Start = "filled" // the units of a lane's share of the buffer arrive at tick 0, with shortened lives (the default)
	Direct Start = "direct" // one unit per lane at tick 0
)

// Assign selects the shards of a lane.
type Assign string

const (
	Sticky   Assign = "sticky" // the same in every epoch, so that caches stay warm (the default)
	PerEpoch Assign = "epoch"  // others in every epoch
)

// Params are the numbers that, with a manifest, its units and a seed, fix the order of all epochs.
// They come from [Options.Params] or from a state, never from the machine. Fields count samples
// unless noted.
type Params struct {
	Lanes    int    `json:"lanes"`     // L, their number
	Quantum  int64  `json:"quantum"`   // A, by which a lane admits units and emits rows in one tick
	Life     int64  `json:"life"`      // D, ticks over which a unit leaves
	Buffer   int64  `json:"buffer"`    // R, the shuffle buffer over all lanes
	Start    Start  `json:"start"`     //
	Spread   int    `json:"spread"`    // H, shards of a lane that are open at once; 0 is all
	Assign   Assign `json:"assign"`    //
	Tail     Tail   `json:"tail"`      // how to treat rows that fill no global batch
	UnitRows int64  `json:"unit_rows"` // the pinned unit_rows that cut the units; 0 when the rule cut them
}

// maxLanes bounds the work of a view's step.
const maxLanes = 1 << 16

// Validate lists everything that is wrong with the parameters.
func (p Params) Validate() error {
	var errs []error
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			errs = append(errs, refuse(field, format, args...))
		}
	}
	check(p.Lanes >= 1 && p.Lanes <= maxLanes, "lanes", "%d is not in 1..%d", p.Lanes, maxLanes)
	check(p.Quantum >= 1, "quantum", "%d is under 1 row", p.Quantum)
	check(p.Life >= 1 && p.Life <= maxLife, "life", "%d is not in 1..%d ticks", p.Life, maxLife)
	check(p.Life < 1 || p.Quantum <= math.MaxInt64/8/max(1, p.Life), "quantum", "%d rows are too many for a life of %d ticks", p.Quantum, p.Life)
	check(p.Buffer >= 1, "buffer", "%d is under 1 row", p.Buffer)
	check(p.Start == Filled || p.Start == Direct, "start", "%q is neither %q nor %q", p.Start, Filled, Direct)
	check(p.Spread >= 0 && p.Spread <= 1<<30, "spread", "%d is not in 0..%d shards", p.Spread, 1<<30)
	check(p.Assign == Sticky || p.Assign == PerEpoch, "assign", "%q is neither %q nor %q", p.Assign, Sticky, PerEpoch)
	check(p.UnitRows >= 0, "unit_rows", "%d is not a number of rows", p.UnitRows)
	if err := p.Tail.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Steady is S, the rows of a lane that wait for their tick once the lane runs evenly.
func (p Params) Steady() int64 { return max(1, p.Quantum*p.Life/3) }

// LaneBound is the most rows that one lane holds at any time, the next tick's arrivals included;
// largest is the largest unit's rows.
func (p Params) LaneBound(rows, largest int64) int64 {
	return max(laneBound(p.Quantum, p.Life, p.laneUnit(rows, largest)), p.Buffer/int64(p.Lanes))
}

// laneUnit is U, the largest unit after lanes cut those larger than themselves.
func (p Params) laneUnit(rows, largest int64) int64 {
	return min(largest, ceilDiv(rows, int64(p.Lanes)))
}

// laneBound is B(D).
func laneBound(quantum, life, unit int64) int64 { return ceilDiv(quantum*life, 3) + 2*quantum + unit }

func (p Params) String() string {
	return fmt.Sprintf("%s: %d lanes, quantum %d rows, life %d ticks, buffer %d rows, start %s, spread %d, assign %s, tail %s, unit_rows %d",
		Version, p.Lanes, p.Quantum, p.Life, p.Buffer, p.Start, p.Spread, p.Assign, p.Tail, p.UnitRows)
}
