package rowgroup

import (
	"errors"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/estimate"
)

const (
	chunkShift     = 18
	wideChunkBytes = 1<<chunkShift - 64 // an arena adds 64 bytes
	wideOwnChunk   = wideChunkBytes / 4 // the smallest chunk; a larger value that does not fit the current one gets memory of its own
)

// errNotFlat reports that a list cannot be spread over parts since some of its items are null.
var errNotFlat = errors.New("items are null")

// A spreader copies the values of a wide column into the blocks that hold their rows. A block's
// memory is chunks; a value never crosses the end of its chunk.
type spreader struct {
	part   []uint8  // of each row of the unit; nil for one block
	rows   int64    // of the unit
	kept   []uint64 // bits of the rows that the blocks hold; nil is all
	before int64    // rows decoded that are before the unit; known when the first page is stored
	blocks []*Block
	open   []openChunk // of each block
	base   [][]byte
	views  []uint64 // of lists: of each row decoded
}

// An openChunk is the rest of a part's last chunk, with an estimate of the bytes still to come, to
// which the last chunks are sized.
type openChunk struct {
	id     uint64
	free   []byte
	coming int64

	from, to uint64 // views of the last text that was copied: in the column's, and in the part
}

// fewRepeats reports whether all values of the dictionary together are not much larger copied to their
// rows than they are.
func (s *pageScan) fewRepeats() bool {
	return s.codedValues <= s.dict.Values+s.dict.Values/4
}

// newSpreader returns the spreader of a column of bytes bytes in rows rows, or nil if the column is
// not wide or if one block takes all of its rows as they are.
func (d *Decoder) newSpreader(bytes, rows int64) *spreader {
	limit := int64(d.layout.wide)
	if limit == 0 {
		limit = estimate.WideBytes
	}
	n := len(d.blocks)
	if n == 0 || n == 1 && !d.few() || rows <= 0 || bytes < limit*rows || bytes > estimate.WideMost {
		return nil
	}
	s := &spreader{rows: d.rows.Hi - d.rows.Lo, kept: d.rowsKept(), blocks: d.blocks, open: make([]openChunk, n)}
	if n > 1 {
		s.part = d.layout.Part
	}
	for i := range s.open {
		s.open[i].coming = bytes / rows * int64(len(d.layout.Order)) / int64(n) // parts of a unit are of one size
	}
	return s
}

// block returns the block that keeps a decoded row. Rows outside of the unit, or of the layout's
// order, are not kept.
func (s *spreader) block(row int64) (block int, kept bool) {
	if row -= s.before; row < 0 || row >= s.rows {
		return 0, false
	}
	if s.kept != nil && s.kept[row/64]>>(row%64)&1 == 0 {
		return 0, false
	}
	if s.part != nil {
		block = int(s.part[row]) - 1
	}
	return block, true
}

// put copies the value of a decoded row into the row's part and returns its view.
func (s *spreader) put(row int64, value []byte) uint64 {
	if block, kept := s.block(row); kept && len(value) > 0 {
		return s.copyTo(block, value)
	}
	return 0
}

// putText is put for a view of a text in which rows may share bytes. Rows of one block still share
// them in the copy.
func (s *spreader) putText(row int64, text []byte, view uint64) uint64 {
	n := uint32(view)
	block, kept := s.block(row)
	if !kept || n == 0 {
		return 0
	}
	o := &s.open[block]
	if o.from>>32 != view>>32 || n > uint32(o.from) {
		o.from, o.to = view, s.copyTo(block, text[view>>32:][:n])
	}
	return o.to>>32<<32 | uint64(n)
}

func (s *spreader) copyTo(part int, value []byte) uint64 {
	o, arena := &s.open[part], block.Memory(s.blocks[part])
	if len(value) > len(o.free) {
		if len(value) > wideOwnChunk {
			own := s.chunk(arena, len(value))
			copy(own, value)
			return uint64(len(s.base)-1)<<(32+chunkShift) | uint64(len(value))
		}
		o.free = s.chunk(arena, int(min(wideChunkBytes, max(wideOwnChunk, o.coming))))
		o.id = uint64(len(s.base) - 1)
		o.coming -= int64(len(o.free))
	}
	copy(o.free, value)
	begin := o.id<<chunkShift | uint64(len(s.base[o.id])-len(o.free))
	o.free = o.free[len(value):]
	return begin<<32 | uint64(len(value))
}

func (s *spreader) chunk(a *mem.Arena, n int) []byte {
	b := a.Alloc(n)
	s.base = append(s.base, b)
	return b
}

// flushText moves the values of the column's last slots out of its text, which is then free for the
// next page.
func (s *spreader) flushText(c *leafDecoder, from int) {
	vs := mem.As[uint64](c.buf[c.head:])[:c.slots]
	for i := from; i < len(vs); i++ {
		vs[i] = s.putText(int64(i), c.text, vs[i])
	}
	for i := range s.open {
		s.open[i].from = 0 // the next page's text is another
	}
	c.textLen = c.textKept
	if c.ownText != nil {
		c.text, c.ownText = c.ownText, nil
	}
}

// flushLists moves the rows that are whole out of the column's slots; the items of a last row that
// may go on move to the front.
func (s *spreader) flushLists(c *leafDecoder, l *listShape, final bool) error {
	if c.nulls > 0 {
		return errNotFlat
	}
	if final {
		l.starts = append(l.starts, uint32(c.slots))
	}
	whole := len(l.starts) - 1
	if whole <= 0 {
		return nil
	}
	row := int64(c.rows - whole)
	if !final {
		row--
	}
	data := c.buf[c.head:]
	s.before = c.d.rows.Lo - c.first
	for i := range whole {
		value := data[int(l.starts[i])*c.unit : int(l.starts[i+1])*c.unit]
		s.views = append(s.views, s.put(row+int64(i), value))
	}
	rest := int(l.starts[whole])
	copy(data, data[rest*c.unit:c.slots*c.unit])
	c.slots -= rest
	l.starts = append(l.starts[:0], 0)
	l.limit -= whole
	return nil
}
