package iterable

import (
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Draw is a worker's rows of one step, in order, as picks of blocks that are still in the shuffle
// buffer. The blocks stay readable until Release; many draws may be out at a time, and any
// goroutine may release one.
type Draw struct {
	Blocks []*rowgroup.Block
	Picks  []rowgroup.Pick
	Rows   int // len(Picks)
	Valid  int // the first so many picks count; the others fill the last step of the tail Pad, or the places of lost rows under Mask
	Lost   int // rows of the step whose data is lost

	Epoch    int64
	Step     int64 // of the epoch: Position divided by the global batch
	Position int64 // rows of the epoch before this step, over all ranks

	State shuffle.State // after this step

	stream *Stream
	number int64 // in the order in which the stream made its draws
}

// Release gives the rows back. The draw must not be used afterwards.
func (d *Draw) Release() {
	if s := d.stream; s != nil {
		d.stream = nil
		s.release(d)
	}
}
