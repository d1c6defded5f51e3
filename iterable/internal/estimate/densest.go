package estimate

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/minheap"
)

// Densest finds the most bytes that a number of rows can take, from the spans whose rows take
// the most. Each span counts twice, since the rows may be of two epochs.
type Densest struct {
	rows int64

	spans *minheap.Heap[spanBytes] // by the bytes of a row; without the least dense they have fewer than rows
	held  int64                    // rows of spans
	bytes int64                    // of spans
}

// spanBytes has the bytes of a span's rows.
type spanBytes struct{ rows, bytes int64 }

func (s spanBytes) row() float64 { return float64(s.bytes) / float64(s.rows) }

// NewDensest finds the bytes of a number of rows.
func NewDensest(rows int64) *Densest {
	return &Densest{rows: rows, spans: minheap.New(func(a, b spanBytes) bool { return a.row() < b.row() })}
}

// Add takes in a span.
func (d *Densest) Add(rows, bytes int64) {
	s := spanBytes{rows: 2 * rows, bytes: 2 * bytes}
	if rows <= 0 || d.held >= d.rows && (d.rows <= 0 || s.row() <= d.spans.First().row()) {
		return
	}
	d.spans.Push(s)
	for d.held, d.bytes = d.held+s.rows, d.bytes+s.bytes; d.held-d.spans.First().rows >= d.rows; {
		least := d.spans.Pop()
		d.held, d.bytes = d.held-least.rows, d.bytes-least.bytes
	}
}

// Most returns the bytes of the rows. Rows beyond all spans count as mean rows.
func (d *Densest) Most() int64 {
	switch {
	case d.held == 0:
		return 0
	case d.held <= d.rows:
		return mem.MulDiv(d.bytes, d.rows, d.held)
	}
	least := d.spans.First()
	return d.bytes - mem.MulDiv(least.bytes, d.held-d.rows, least.rows)
}
