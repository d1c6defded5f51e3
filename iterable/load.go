package iterable

import (
	"time"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A key names what a stream must have before it can go on: a span of a lane of an epoch, or, without shuffle, a unit (slot 0).
type key struct {
	epoch      uint64
	slot, span int32
}

// A wanted is one key of a load.
type wanted struct {
	key
	lane   *shuffle.Lane // nil without shuffle
	offset int           // row of the load at which the span begins
	rows   int

	selected shuffle.Selection // which of the unit's rows are the span's; nil when all are
}

// A load is rows that are fetched and decoded at once. One goroutine at a time has it: the one that schedules it, one that fetches, one that
// decodes, and, once ready is closed, the consumer.
type load struct {
	rows   rowgroup.Rows
	group  int
	wanted []wanted
	parts  int // that the wide columns are spread over, in the order in which rows leave; 0 for none
	est    estimate
	need   int64 // position of its epoch at which the first of wanted must be there
	shared bool  // streams of other ranks or workers want the same rows
	owner  bool  // of a shared load: this stream decodes it, and others may wait for that

	ready chan struct{} // closed when block and orders, or err, are set
	block *rowgroup.Block
	err   error

	// orders are, for each wanted span, the row of it that leaves as its s-th; nil when rows leave as they lie, as
	// those of a block do that one span has for itself.
	orders [][]uint32

	begun, fetched, done time.Time

	raw     *rowgroup.Raw
	charged estimate // what the account counts for it now
	read    int64    // encoded bytes
}

// An estimate is the bytes of a load.
type estimate struct {
	fetch, decode int64
}

// partEnd is how many of n rows have left when the rows of the first p+1 parts have: the s-th row is in part s*parts/n.
func partEnd(n, parts, p int) int {
	return (n*(p+1) + parts - 1) / parts
}

// order makes the order of a wanted span in dst, grown as needed: the row of the span, counted from its first, that leaves as its s-th. It is nil
// when they leave as they lie.
func (w *wanted) order(dst []uint32) []uint32 {
	switch {
	case w.lane != nil:
		dst = w.lane.RowOrder(int(w.span), dst)
	case w.selected != nil:
		dst = dst[:0]
		for i := range w.selected {
			dst = append(dst, uint32(i))
		}
	default:
		return nil
	}
	if w.selected != nil {
		for s, number := range dst {
			dst[s] = w.selected[number] - w.selected[0]
		}
	}
	return dst
}

// layout lays the load's rows in the order in which they leave, and spreads its wide columns over parts by it. part is scratch. Spans that
// share a load keep the file's order, since each has an order of its own, and so do selected rows.
func (l *load) layout(part []uint8) (rowgroup.Layout, []uint8) {
	if len(l.wanted) != 1 || l.wanted[0].selected != nil {
		return rowgroup.Layout{}, part
	}
	w, order := l.wanted[0], l.orders[0]
	if l.parts < 2 {
		return rowgroup.Layout{Order: order}, part
	}
	if cap(part) < w.rows {
		part = make([]uint8, w.rows)
	}
	part = part[:w.rows]
	s := 0
	for p := range l.parts {
		for end := partEnd(w.rows, l.parts, p); s < end; s++ {
			row := s
			if order != nil {
				row = int(order[s])
			}
			part[row] = uint8(p + 1)
		}
	}
	return rowgroup.Layout{Part: part, Parts: l.parts, Order: order}, part
}
