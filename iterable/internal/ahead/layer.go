package ahead

import (
	"slices"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// A layer lays out loads for one goroutine: it finds the samples of each among its rows, and the
// order in the blocks.
type layer struct {
	reader   *Reader
	decoder  *rowgroup.Decoder
	selector *samples.Selector // of the load; nil: each row is a sample
	all      map[*samples.Rules]*samples.Selector
	packer   *packer // of the load; nil: no sample has several rows
	packers  map[*samples.Packing]*packer

	part   []uint8
	rows   []uint32 // of the unit that the load's blocks hold, ascending
	places []uint32 // of the load's samples among rows; nil where each row comes once
}

func (r *Reader) newLayer() *layer {
	return &layer{reader: r, decoder: r.Manifest.NewDecoder(), all: map[*samples.Rules]*samples.Selector{}, packers: map[*samples.Packing]*packer{}}
}

// selectorOf applies rules; nil without rules.
func (y *layer) selectorOf(r *samples.Rules) *samples.Selector {
	if r == nil {
		return nil
	}
	if y.all[r] == nil {
		y.all[r] = r.NewSelector()
	}
	return y.all[r]
}

func (y *layer) close() { y.decoder.Close() }

// layOut sets the orders of a load and returns the layout of its rows, and the bytes of the
// orders. The caller returns the layout's order to the pool.
func (y *layer) layOut(l *Load) (layout rowgroup.Layout, bytes int64, err error) {
	if y.selector = y.selectorOf(l.Rules); y.selector != nil {
		if err := y.choose(l); err != nil {
			return layout, 0, err
		}
	}
	order, bytes := y.arrange(l)
	return l.layout(order, &y.part), bytes, nil
}

// choose finds the samples of a load. They must be as many as were counted.
func (y *layer) choose(l *Load) error {
	rules, rows := y.selector.Rules, l.Rows
	var columns []rule.Column
	if rules.Reads() {
		var err error
		if columns, err = y.decoder.DecodeRule(l.raw); err != nil {
			return err
		}
	}
	sel, err := y.selector.Finish(l.Group, rows.Lo, rows.Hi, columns, false)
	if err == nil {
		if n := sel.Samples(0, sel.Rows); n != l.Samples {
			err = samples.Miscounted("rows", l.Samples, n)
		}
	}
	if err != nil {
		return samples.Error(l.Manifest, rows, err)
	}
	y.take(l, sel)
	return nil
}

// take lists the rows of a load's samples.
func (y *layer) take(l *Load, sel samples.Selection) {
	y.rows, y.places = y.rows[:0], y.places[:0]
	from, to, at := l.Span.From, l.Span.To, int64(0)
	if sel.Times == nil {
		y.rows, y.places = sel.AppendRows(y.rows), nil
		y.rows = y.rows[:copy(y.rows, y.rows[from:to])]
		return
	}
	y.places = slices.Grow(y.places, int(to-from))
	sel.Each(0, sel.Rows, func(row int) {
		first, end := max(at, from), min(at+int64(sel.Times[row]), to)
		if at += int64(sel.Times[row]); first >= end {
			return
		}
		for ; first < end; first++ {
			y.places = append(y.places, uint32(len(y.rows)))
		}
		y.rows = append(y.rows, uint32(row))
	})
}

// arrange sets the orders of a load and returns their bytes, and the rows that its block holds, in
// their order: the one in which they leave when one span has the block for itself, else the file's,
// since each span has an order of its own. nil keeps all rows in the file's order.
func (y *layer) arrange(l *Load) (order []uint32, bytes int64) {
	r := y.reader
	l.orders, l.placed = make([][]uint32, len(l.Wanted)), false
	if y.single(l) {
		return y.leaving(&l.Wanted[0]), 0
	}
	for i, w := range l.Wanted {
		if w.Lane != nil {
			l.orders[i] = w.Lane.RowOrder(int(w.Span), r.TakeOrder(w.Rows))
			bytes += int64(w.Rows) * OrderBytes
		}
	}
	switch {
	case l.inImage || y.selector == nil:
		return nil, bytes
	case y.places != nil:
		return y.copyRows(), r.place(l, y.places)
	case len(y.rows) == int(l.Rows.Hi-l.Rows.Lo): // all of them
		return nil, bytes
	}
	return y.copyRows(), bytes
}

// single reports whether one span, whose rows leave in an order of its own, has the block of a load
// for itself.
func (y *layer) single(l *Load) bool {
	return len(l.Wanted) == 1 && l.Wanted[0].Lane != nil && !l.inImage && (y.selector == nil || y.places == nil)
}

// leaving returns the rows of the only span of a load in the order in which they leave.
func (y *layer) leaving(w *Wanted) []uint32 {
	if y.selector == nil {
		return w.Lane.RowOrder(int(w.Span), y.reader.TakeOrder(w.Rows))
	}
	rows := y.copyRows()
	w.Lane.OrderRows(int(w.Span), rows)
	return rows
}

// copyRows returns the rows that the block holds, in the file's order.
func (y *layer) copyRows() []uint32 { return append(y.reader.TakeOrder(len(y.rows)), y.rows...) }

// place makes the orders of a load's spans rows of its block, in which the load's samples have
// these places, and returns their bytes.
func (r *Reader) place(l *Load, places []uint32) (bytes int64) {
	l.placed = true
	for i, w := range l.Wanted {
		at := places[w.Offset : w.Offset+w.Rows]
		if l.orders[i] == nil {
			l.orders[i] = append(r.TakeOrder(w.Rows), at...)
		} else {
			for s, of := range l.orders[i] {
				l.orders[i][s] = at[of]
			}
		}
		bytes += int64(w.Rows) * OrderBytes
	}
	return bytes
}

// placeFrom is place for a block that another stream decoded; nil places keep the samples in file
// order.
func (r *Reader) placeFrom(l *Load, places []uint32) (bytes int64) {
	if places == nil {
		return 0
	}
	return r.place(l, places)
}

// sharedPlaces are the places of a load's samples for the streams that share its block.
func (y *layer) sharedPlaces(l *Load) []uint32 {
	if y.selector == nil || y.places == nil {
		return nil
	}
	return slices.Clone(y.places)
}
