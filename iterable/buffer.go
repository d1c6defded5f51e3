package iterable

import (
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
)

// buffer is the shuffle buffer: the blocks whose rows are still to leave, or have left in draws
// that were not released yet. Draws are numbered from 1 in the order in which they are made. What
// becomes free is queued with the last draw that may hold rows of it, and freed when that draw and
// all before it are released.
type buffer struct {
	ahead *ahead.Reader

	mu     sync.Mutex
	oldest int64       // the first draw that is not released; one after the last when all are
	open   []bool      // by draw from oldest on: not released
	queue  []leftovers // by ascending draw
}

// A hold is the blocks of a load in the buffer.
type hold struct {
	*ahead.Held
	place int // of its row group among the row groups of all sources
	users int // spans that still have rows to leave
}

// A resident is a span in the buffer. Only the consumer's goroutine touches it.
type resident struct {
	hold   *hold
	lost   *gap     // instead of all else but rows: its data is lost
	offset uint32   // row of the block at which the span starts
	order  []uint32 // nil if rows leave in the block's order
	rows   int
	start  audit.Start // of the samples' hashes
	parts  int
	freed  int // parts that have left

	places []placed // by block of the hold
	part   int      // that find found last
	lo, hi uint32   // its rows
}

// placed locates a block: the draw whose table has it, and its index there.
type placed struct {
	draw  int64
	index int
}

// find returns the block of the hold, and in it the row, that leaves as the s-th of the span.
func (r *resident) find(s uint32) (part int, row uint32) {
	if r.parts == 0 {
		if r.order == nil {
			return 0, r.offset + s
		}
		return 0, r.offset + r.order[s]
	}
	if s < r.lo || s >= r.hi {
		r.part = int(s) * r.parts / r.rows
		r.lo, r.hi = uint32(ahead.PartEnd(r.rows, r.parts, r.part-1)), uint32(ahead.PartEnd(r.rows, r.parts, r.part))
	}
	return r.part, s - r.lo
}

// leftovers are memory that is free once a draw is released.
type leftovers struct {
	draw  int64
	hold  *hold
	part  int      // of the block; 0 for a user of the hold
	order []uint32 // of the user
}

// admit makes the residents of a load that is ready, in the order of its wanted.
func (b *buffer) admit(l *ahead.Load) []*resident {
	h := &hold{Held: b.ahead.Take(l), place: l.Place, users: len(l.Wanted)}
	out := make([]*resident, len(l.Wanted))
	for i, w := range l.Wanted {
		offset, order := l.Order(i)
		out[i] = &resident{hold: h, offset: offset, order: order, rows: w.Rows, parts: l.Parts, places: make([]placed, len(h.Blocks))}
	}
	return out
}

// use adds a use of blocks that are in the buffer.
func (b *buffer) use(h *hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.users++
}

// begin opens a draw.
func (b *buffer) begin(draw int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open) == 0 {
		b.oldest = draw
	}
	b.open = append(b.open, true)
}

// left records that emitted rows of a span have left, the last of them in a draw, so that parts of
// its block, or its use of it, are over.
func (b *buffer) left(r *resident, emitted int, draw int64) {
	if r.parts > 0 {
		for r.freed < r.parts && ahead.PartEnd(r.rows, r.parts, r.freed) <= emitted {
			r.freed++
			if r.freed < r.parts || emitted < r.rows { // the end of the span frees the rest
				b.free(leftovers{draw: draw, hold: r.hold, part: r.freed})
			}
		}
	}
	if emitted >= r.rows {
		b.drop(r, draw)
	}
}

// skip records that a span enters the buffer after n of its rows have left: no draw
// holds them.
func (b *buffer) skip(r *resident, emitted int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r.freed < r.parts && ahead.PartEnd(r.rows, r.parts, r.freed) <= emitted {
		r.freed++
		b.freeLocked(leftovers{hold: r.hold, part: r.freed})
	}
}

// drop ends a span's use of its block.
func (b *buffer) drop(r *resident, draw int64) {
	if r.lost != nil {
		return
	}
	b.free(leftovers{draw: draw, hold: r.hold, order: r.order})
	r.hold = nil
}

// free queues leftovers, or frees them when no draw can hold rows of them.
func (b *buffer) free(l leftovers) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, l)
	b.sweepLocked()
}

// release closes a draw. Draws may be released in any order.
func (b *buffer) release(draw int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[draw-b.oldest] = false
	n := 0
	for n < len(b.open) && !b.open[n] {
		n++
	}
	b.oldest += int64(n)
	b.open = slices.Delete(b.open, 0, n)
	b.sweepLocked()
}

// idle reports whether all draws are released.
func (b *buffer) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open) == 0
}

// sweepLocked frees what no open draw holds.
func (b *buffer) sweepLocked() {
	n := 0
	for n < len(b.queue) && (len(b.open) == 0 || b.queue[n].draw < b.oldest) {
		b.freeLocked(b.queue[n])
		n++
	}
	b.queue = slices.Delete(b.queue, 0, n)
}

func (b *buffer) freeLocked(l leftovers) {
	h := l.hold
	if l.part > 0 {
		h.ReleasePart(l.part - 1)
		return
	}
	b.ahead.GiveOrder(l.order)
	if h.users--; h.users == 0 {
		h.Release()
	}
}
