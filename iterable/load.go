package iterable

import (
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// A key names what a stream must have before it can go on: a span of a lane of an epoch of a
// source, or, without shuffle, a unit (slot 0).
type key struct {
	epoch      uint64
	source     int32
	slot, span int32
}

// A wanted is one key of a load.
type wanted struct {
	key
	lane   *shuffle.Lane // nil without shuffle
	offset int           // row of the block at which the span starts
	rows   int
}

// A load is rows that are fetched and decoded at once. One goroutine at a time has it: the one that
// schedules it, one that fetches, one that decodes, and, once ready is closed, the consumer.
type load struct {
	manifest *rowgroup.Reader // of its source
	rules    *samples.Rules   // of its source; nil: each row is a sample
	place    int              // of its row group among the row groups of all sources

	rows    rowgroup.Rows
	span    shuffle.Span // the samples of the unit that its blocks hold
	samples int64        // of the unit
	group   int
	number  int64 // in the schedule, from 1 on
	wanted  []wanted
	parts   int // blocks that it becomes, by the order in which rows leave; 0 when it is one
	est     estimate
	need    int64 // position of its epoch at which the first of wanted must be there
	shared  bool  // streams of other ranks or workers want the same rows
	owner   bool  // of a shared load: this stream decodes it, and others may wait for that

	granted chan struct{} // closed when memory for the block is there, or will not be
	flying  bool          // see throttle
	open    bool          // see parking
	refused error         // set when granted is closed: there is no memory for the block
	early   int64         // bytes of readahead.early

	ready  chan struct{}     // closed when blocks and orders, or err, are set
	blocks []*rowgroup.Block // one, or one for each of parts
	err    error

	// orders are, for each wanted span, the number of the row of it that leaves as its s-th; nil
	// when rows leave as they lie, as those of a block do that one span has for itself. Where rows
	// come more than once, placed is true: these are rows of the block, not of the span.
	orders [][]uint32
	placed bool

	residents []*resident // by wanted, once the load is in the buffer

	begun, fetched time.Time

	inImage bool // its block is in an image of the tier, in the order of the file
	raw     *rowgroup.Raw
	charged estimate // what the account counts for it now
	read    int64    // encoded bytes
	kept    int64    // bytes of its image
}

// An estimate is the bytes of a load.
type estimate struct {
	fetch, decode int64
	scratch       int64 // of decode, until the blocks are there
}

// partEnd is how many of n rows have left when the rows of the first p+1 parts have: the s-th row
// is in part s*parts/n.
func partEnd(n, parts, p int) int {
	return (n*(p+1) + parts - 1) / parts
}

// resident returns the resident of one of the keys that the load is wanted for.
func (l *load) resident(k key) *resident {
	return l.residents[slices.IndexFunc(l.wanted, func(w wanted) bool { return w.key == k })]
}

// bytes of the blocks.
func (l *load) bytes() (n int64) {
	for _, b := range l.blocks {
		n += b.Bytes()
	}
	return n
}

// layout lays the rows that the load's blocks hold in an order, nil for the file's, and
// divides them by it.
func (l *load) layout(order []uint32, scratch *[]uint8) rowgroup.Layout {
	if l.parts < 2 {
		return rowgroup.Layout{Order: order}
	}
	rows := int(l.rows.Hi - l.rows.Lo)
	*scratch = slices.Grow((*scratch)[:0], rows)
	part, s, held := (*scratch)[:rows], 0, rows
	if order != nil {
		held = len(order)
	}
	if held < rows {
		clear(part) // what no block holds
	}
	for p := range l.parts {
		for end := partEnd(held, l.parts, p); s < end; s++ {
			row := s
			if order != nil {
				row = int(order[s])
			}
			part[row] = uint8(p + 1)
		}
	}
	return rowgroup.Layout{Part: part, Parts: l.parts, Order: order}
}
