package ahead

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
)

// A Key names what a stream must have before it can go on: a span of a lane of an epoch of a
// source, or, without shuffle, a unit (slot 0).
type Key struct {
	Epoch      uint64
	Source     int32
	Slot, Span int32
}

// A Wanted is one key of a load.
type Wanted struct {
	Key
	Lane   *shuffle.Lane // nil without shuffle
	Offset int           // row of the block at which the span starts
	Rows   int
}

// A Load is rows that are fetched and decoded at once. One goroutine at a time has it: the one that
// schedules it, one that fetches, one that decodes, and, once it is ready, the consumer.
type Load struct {
	Manifest *rowgroup.Reader // of its source
	Rules    *samples.Rules   // of its source; nil: each row is a sample
	Place    int              // of its row group among the row groups of all sources

	Transforms *transform.Columns // of its source, which change its blocks; nil leaves them

	Rows     rowgroup.Rows
	Span     shuffle.Span // the samples of the unit that its blocks hold
	Samples  int64        // of the unit
	Group    int
	Wanted   []Wanted
	Parts    int // blocks that it becomes, by the order in which rows leave; 0 when it is one
	Estimate Estimate
	Epoch    uint64
	Need     int64 // position of the epoch at which the first of Wanted must be there
	Shared   bool  // streams of other ranks or workers want the same rows

	Err error // set when the load is ready and failed

	number int64 // in the schedule, from 1 on
	owner  bool  // of a shared load: this stream decodes it, and others may wait for that

	granted chan struct{} // closed when memory for the block is there, or will not be
	flying  bool          // see throttle
	open    bool          // see parking
	refused error         // set when granted is closed: there is no memory for the block
	early   int64         // bytes of Reader.early

	ready  chan struct{}     // closed when blocks and orders, or Err, are set
	blocks []*rowgroup.Block // one, or one for each of Parts

	orders [][]uint32 // see Order
	placed bool       // the orders are rows of the block, since rows may come more than once

	began int64      // when it became the next to be admitted, for traces; 0 is not known
	trail wait.Trail // what held the load up so far

	inImage bool // its block is in an image of the tier, in the order of the file
	raw     *rowgroup.Raw
	charged Estimate // what the account counts for it now
	read    int64    // encoded bytes
	kept    int64    // bytes of its image
}

// An Estimate is the bytes of a load.
type Estimate struct {
	Fetch, Decode int64
	Scratch       int64 // of Decode, until the blocks are there
}

// OrderBytes is the memory of a row's place in the order in which its span leaves.
const OrderBytes = 4

// Order returns the row of the block at which the i-th wanted span starts, and the rows from there
// in the order in which they leave; nil is the block's order, which fits a span that has the block
// for itself.
func (l *Load) Order(i int) (offset uint32, order []uint32) {
	if !l.placed {
		offset = uint32(l.Wanted[i].Offset)
	}
	return offset, l.orders[i]
}

// PartEnd returns how many of n rows have left when the rows of the first p+1 parts have: the s-th
// row is in part s*parts/n.
func PartEnd(n, parts, p int) int {
	return (n*(p+1) + parts - 1) / parts
}

// recorded describes a load that is ready, or has failed, for traces; ok is false if nothing held it
// up.
func (l *Load) recorded() (r loads.Load, ok bool) {
	marks := l.trail.Marks()
	if len(marks) == 0 {
		return r, false
	}
	return loads.Load{
		Unit: l.Place, Shard: l.Manifest.Shards()[l.Rows.Shard].URI, RowGroup: l.Rows.RowGroup, Rows: l.Rows.Hi - l.Rows.Lo,
		Fetched: l.read, Decoded: l.bytes(), Failed: l.Err != nil,
		Begin: cmp.Or(l.began, marks[0].End), Marks: loads.MarksOf(&l.trail),
	}, true
}

// bytes of the blocks.
func (l *Load) bytes() (n int64) {
	for _, b := range l.blocks {
		n += b.Bytes()
	}
	return n
}

// layout lays the rows that the load's blocks hold in an order, nil for the file's, and
// divides them by it.
func (l *Load) layout(order []uint32, scratch *[]uint8) rowgroup.Layout {
	if l.Parts < 2 {
		return rowgroup.Layout{Order: order}
	}
	rows := int(l.Rows.Hi - l.Rows.Lo)
	*scratch = slices.Grow((*scratch)[:0], rows)
	part, s, held := (*scratch)[:rows], 0, rows
	if order != nil {
		held = len(order)
	}
	if held < rows {
		clear(part) // what no block holds
	}
	for p := range l.Parts {
		for end := PartEnd(held, l.Parts, p); s < end; s++ {
			row := s
			if order != nil {
				row = int(order[s])
			}
			part[row] = uint8(p + 1)
		}
	}
	return rowgroup.Layout{Part: part, Parts: l.Parts, Order: order}
}
