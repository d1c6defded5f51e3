package iterable

import (
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/unitcache"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

type (
	// Trail has the causes that held a draw or a batch up, over time.
	Trail = wait.Trail

	// Mark is the end of a piece of a trail.
	Mark = wait.Mark

	// Cause is why a training loop has no batch.
	Cause = wait.Cause

	// Waits are times that a training loop waited, by cause.
	Waits = wait.Parts
)

// A Draw is a worker's rows of one step, or the rows that a taker was asked for, in order, as picks
// of blocks that are still in the shuffle buffer or in the taker's memory. The blocks stay readable
// until Release; many draws may be out at a time, and any goroutine may release one.
type Draw struct {
	Blocks []*rowgroup.Block
	Picks  []rowgroup.Pick
	Rows   int // len(Picks)
	Valid  int // the first picks, which count; the others fill the last step of the tail Pad, or the places of lost rows under Mask
	Lost   int // rows of the step whose data is lost

	// Hash is the sum of the hashes of the samples that came or are lost; see package audit. Under
	// StreamOptions.Hashes, Hashes has it after each of them in the order of the epoch, and Gaps
	// are the places there of the lost ones.
	Hash   uint64
	Hashes []uint64
	Gaps   []int32

	// After is how many epochs after Epoch a pick is of, under the tail Carry, and in a mixture,
	// where it is that of the source and may lie before Epoch. Picks beyond its length are of
	// Epoch.
	After []int32

	// Of a stream's draw; -1 in a taker's.
	Epoch    int64
	Step     int64 // of the epoch: Position divided by the global batch
	Position int64 // rows of the epoch before this step, over all ranks

	State shuffle.State // after this step

	// Trail has the causes that held the draw up.
	Trail *Trail

	from   drawer
	number int64           // in the order in which the stream made its draws
	each   bool            // Hashes is wanted
	units  []unitcache.Pin // of a taker
}

// A drawer makes draws and takes them back.
type drawer interface{ release(*Draw) }

// Release gives the rows back. The draw must not be used afterwards.
func (d *Draw) Release() {
	if from := d.from; from != nil {
		d.from = nil
		from.release(d)
	}
}

// pick appends a pick of an epoch, of a sample with a hash.
func (d *Draw) pick(p rowgroup.Pick, epoch, hash uint64) {
	d.Hash += hash
	if d.each {
		d.Hashes = append(d.Hashes, d.Hash)
	}
	if epoch != uint64(d.Epoch) {
		d.later(epoch)
	}
	d.Picks = append(d.Picks, p)
}

// later makes the next pick one of a later epoch.
func (d *Draw) later(epoch uint64) {
	d.After = append(d.After, make([]int32, len(d.Picks)-len(d.After))...)
	d.After = append(d.After, int32(epoch-uint64(d.Epoch)))
}
