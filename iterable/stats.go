package iterable

import (
	"fmt"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
)

// Stats counts what a stream did. It is a value: the difference of two has the counts in between.
type Stats struct {
	Draws int64
	Rows  int64 // handed out
	Lost  int64 // whose data is lost, under Mask and Skip

	Truncated int64 // documents of loads that lost tokens, since they are longer than a block or than max_tokens
	Tokens    int64 // made of the texts of loads
	Special   int64 // texts of loads that contain special tokens
	Displaced int64 // tokens of loads that fill-in-the-middle moved beyond the ends of blocks

	Groups int64 // row groups in a draw, summed over the draws

	Units   int64 // decoded
	Fetched int64 // encoded bytes read or mapped
	Needed  int64 // encoded bytes of the projected columns, each row once
	Decoded int64 // bytes of blocks
	Kept    int64 // bytes of images that units came from in place of encoded columns

	Held time.Duration // in which only memory kept the next bytes from being fetched
}

// Sub returns the counts since an earlier Stats of the stream.
func (s Stats) Sub(earlier Stats) Stats {
	s.Draws -= earlier.Draws
	s.Rows -= earlier.Rows
	s.Lost -= earlier.Lost
	s.Truncated -= earlier.Truncated
	s.Tokens -= earlier.Tokens
	s.Special -= earlier.Special
	s.Displaced -= earlier.Displaced
	s.Groups -= earlier.Groups
	s.Units -= earlier.Units
	s.Fetched -= earlier.Fetched
	s.Needed -= earlier.Needed
	s.Decoded -= earlier.Decoded
	s.Kept -= earlier.Kept
	s.Held -= earlier.Held
	return s
}

// A tally sums up the draws of a stream.
type tally struct {
	mu  sync.Mutex
	sum Stats
}

// add returns the sum.
func (t *tally) add(s Stats) Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum = t.sum.Sub(Stats{}.Sub(s))
	return t.sum
}

// with adds the counts of a read-ahead.
func (s Stats) with(c ahead.Counts) Stats {
	s.Truncated += c.Truncated
	s.Tokens += c.Tokens
	s.Special += c.Special
	s.Displaced += c.Displaced
	s.Units += c.Units
	s.Fetched += c.Fetched
	s.Needed += c.Needed
	s.Decoded += c.Decoded
	s.Kept += c.Kept
	s.Held += c.Held
	return s
}

// GroupsPerDraw is the mean number of row groups in a draw.
func (s Stats) GroupsPerDraw() float64 {
	if s.Draws == 0 {
		return 0
	}
	return float64(s.Groups) / float64(s.Draws)
}

func (s Stats) String() string {
	lost := ""
	if s.Lost > 0 {
		lost = fmt.Sprintf(" and %d lost", s.Lost)
	}
	kept := ""
	if s.Kept > 0 {
		kept = fmt.Sprintf(" and %s kept decoded", mem.Bytes(s.Kept))
	}
	return fmt.Sprintf("%d rows%s in %d draws of %.1f row groups; %d units, %s fetched%s for %s needed, %s decoded",
		s.Rows, lost, s.Draws, s.GroupsPerDraw(), s.Units, mem.Bytes(s.Fetched), kept, mem.Bytes(s.Needed), mem.Bytes(s.Decoded))
}
