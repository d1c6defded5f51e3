package rowgroup

import (
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// A workspace is the scratch of a decoder, kept from page to page.
type workspace struct {
	page, values, table scratch // a decompressed page; decoded values before they are converted; a dictionary
	lengths             scratch // of byte arrays
	views               scratch // of byte arrays that become decimals
	wide                scratch // of a column that is spread over parts: its text, or the items of its lists
	saved               scratch // slots that a page's levels overwrite
	def, rep            scratch // levels of a page, or of a nested leaf, a byte each
	starts, bits        scratch // of lists: the start of each, and which are not null
	order               scratch // the rows of the unit in the file's order
	chosen              scratch // bits of the rows that are kept
	spare               *mem.Arena
	codes               [1024]uint32
	narrowed            narrowed
	kernels             *block.CastScratch // of leaves that are recast; nil before the first
}

// keptScratch is how many bytes of one scratch a decoder keeps from unit to unit. It returns the
// rest to the pool, so that decoders at work hold memory and idle ones do not.
const keptScratch = 256 << 10

// scratch is memory of the pool that is kept from page to page.
type scratch struct {
	arena *mem.Arena
	b     []byte
}

// take returns n bytes of any content with codecSlack bytes behind them; those taken before are
// lost.
func (s *scratch) take(n int) []byte {
	if n > len(s.b) || s.b == nil {
		s.arena.Free()
		s.b = s.arena.Alloc(n + n/8)
	}
	return s.b[:n]
}

// extend is take, but the first kept bytes of those taken before stay.
func (s *scratch) extend(kept, n int) []byte {
	if n > len(s.b) || s.b == nil {
		s.b = s.arena.Grow(s.b[:kept], n+n/8)
	}
	return s.b[:n]
}

// free gives all scratch back.
func (w *workspace) free() {
	w.spare.Free()
	for _, s := range w.scratches() {
		s.arena.Free()
		s.b = nil
	}
}

// trim gives large scratch back.
func (w *workspace) trim() {
	for _, s := range w.scratches() {
		if s.arena.Bytes() > keptScratch {
			s.arena.Free()
			s.b = nil
		}
	}
	if w.spare.Bytes() > keptScratch {
		w.spare.Free()
	}
}

func (w *workspace) scratches() []*scratch {
	return []*scratch{
		&w.page, &w.values, &w.table, &w.lengths, &w.views, &w.wide, &w.saved, &w.def, &w.rep, &w.starts, &w.bits, &w.order, &w.chosen,
	}
}
