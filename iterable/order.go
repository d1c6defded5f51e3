package iterable

import (
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An order is the samples of an epoch as all ranks together read them: in the order of a plan, of
// the files as they are, or of a mixture of plans.
type order interface {
	// state returns what all states of a stream have in common.
	state(globalBatch int64) shuffle.State

	// portion returns the part that a worker reads from start on, with draws of drawn rows.
	portion(w shuffle.Worker, start stepper, seats shuffle.Seats, drawn int64) (portion, error)

	// buffer returns the shuffle buffer in rows, of all sources together; 0 in file order.
	buffer() int64

	// reads returns the plan of each source, and the lanes of them that a worker reads. In file
	// order it is an error.
	reads(w shuffle.Worker, start stepper) ([]planReads, error)

	// describe completes the plan of a run.
	describe(p *Plan) error

	// poorMixing returns a warning if the order mixes sorted data poorly, else nil.
	poorMixing(worldSize int, globalBatch int64) (*PoorMixing, error)

	// units returns the units of a source.
	units(source int) *shuffle.Units

	// left returns how many passes over each source have begun at a position, of all epochs, and
	// calls yield with what they have left.
	left(epoch uint64, pos int64, yield func(source int, p shuffle.Part)) (passes []uint64)

	// note keeps in n which lanes a worker reads.
	note(n *saved.LaneNotes, w shuffle.Worker, globalBatch int64, o StreamOptions) error
}

// A portion is the part of an order that one worker reads: which loads, when, and how rows are
// picked.
type portion struct {
	bound    bound
	schedule ahead.Schedule
	walk     func(*Stream) walk
	lanes    int // of the first epoch
}

// planReads are the lanes of a plan, by slot, that a worker reads.
type planReads struct {
	plan   *shuffle.Plan
	slots  []int
	epochs int // how many may have other units in a lane than those before
	epoch  func(number uint64) *shuffle.Epoch
	kept   bool // units stay for all passes, and those are read too that a later pass may bring
}

// mostEpochs bounds the epochs whose lanes are examined, if they differ by the rows that the tail
// carries over, or that each pass of a mixture gives a lane.
const mostEpochs = 64

func readsOf(p *shuffle.Plan, slots []int) planReads {
	r := planReads{plan: p, slots: slots, epochs: 1, epoch: p.Epoch}
	if params := p.Params(); params.Tail == shuffle.Carry {
		r.epochs = min(params.Lanes, mostEpochs)
	}
	return r
}

// passOf returns the pass over n rows that a position of an epoch is in, and the position in it.
// Under Carry it may be another epoch.
func passOf(epoch uint64, pos, n int64) (uint64, int64) {
	for ; n > 0 && pos >= n; pos -= n {
		epoch++
	}
	for ; n > 0 && pos < 0; pos += n {
		epoch--
	}
	return epoch, pos
}

// errSeats refuses seats for an order without lanes of single ranks.
func errSeats() error {
	return &OptionError{Field: "Seats", Text: "are of the lanes of one shuffled data set; leave them out of file order and of sources"}
}
