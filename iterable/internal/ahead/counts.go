package ahead

import (
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// Counts are the work of a reader.
type Counts struct {
	Truncated int64 // documents of loads that lost tokens, since they are longer than a block or than max_tokens
	Tokens    int64 // made of the texts of loads
	Special   int64 // texts of loads that contain special tokens
	Displaced int64 // tokens of loads that fill-in-the-middle moved beyond the ends of blocks

	Units     int64 // decoded
	Fetched   int64 // encoded bytes read or mapped
	Needed    int64 // encoded bytes of the projected columns, each row once
	Decoded   int64 // bytes of blocks
	Predicted int64 // estimates of them
	Kept      int64 // bytes of images that units came from in place of encoded columns

	Held time.Duration // in which only memory kept the next load from starting
}

// counts sums up the work of all goroutines.
type counts struct {
	mu  sync.Mutex
	sum Counts
}

// add returns the sum.
func (c *counts) add(n Counts) Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.sum
	s.Truncated += n.Truncated
	s.Tokens += n.Tokens
	s.Special += n.Special
	s.Displaced += n.Displaced
	s.Units += n.Units
	s.Fetched += n.Fetched
	s.Needed += n.Needed
	s.Decoded += n.Decoded
	s.Predicted += n.Predicted
	s.Kept += n.Kept
	s.Held += n.Held
	return *s
}

// Counts returns the work so far.
func (r *Reader) Counts() Counts { return r.counts.add(Counts{}) }

// count adds a decoded load to the statistics, and reports once if the metadata predicted much
// less.
func (r *Reader) count(l *Load) {
	g := l.Manifest.Groups()[l.Group]
	all := r.counts.add(Counts{
		Units: 1, Fetched: l.read, Needed: mem.MulDiv(g.Compressed, l.Rows.Hi-l.Rows.Lo, g.Rows),
		Decoded: l.bytes(), Predicted: l.Estimate.Decode - l.Estimate.Scratch, Kept: l.kept,
	})
	if all.Decoded-all.Predicted > all.Predicted/10 && r.OverEstimate != nil && !r.said.Swap(true) {
		r.OverEstimate(all.Decoded, all.Predicted)
	}
}
