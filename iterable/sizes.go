package iterable

import (
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	mostParts    = 16        // that a load is divided into by the order in which its rows leave, when it is large enough
	widePart     = 1 << 20   // bytes of wide columns that a part holds at least
	narrowPart   = 512 << 10 // or of narrow ones
	wideEndBytes = 64 << 10  // of a part's last chunk of wide values stay empty
	partEndBytes = 64 << 10  // at most, of the last of the buffers that its narrow columns share: these begin with half of it, and double
	packingPart  = 16        // narrow columns of a part take 1/packingPart more, where they do not fill the buffers that they share
	blockBytes   = 48 << 10  // that the smallest slice takes
	orderBytes   = 4         // of a row's place in the order in which its span leaves
	roundingPart = 8         // what is cut into pieces takes 1/roundingPart more, rounded to the pool's sizes
	scratchBytes = 5         // of a row, for the order and the parts in which its span leaves
	freeScratch  = 16 << 20  // of one decoder, that no account counts: the process has as much beside them, as the promise of its memory says
	edgePart     = 16        // a slice of a row group is charged 1/edgePart of the group more, for pages across its edges and dictionaries
)

// sizes predicts what loads take, from the files' metadata. It is safe for concurrent use.
type sizes struct {
	manifest *rowgroup.Manifest
	copied   bool             // bytes are read into the pool's buffers, not lent
	decoded  func() []decoded // by group
}

// decoded is what a group takes in memory, in bytes: its narrow columns and its wide ones. whole is
// what of the narrow ones cannot be divided.
type decoded struct {
	narrow, wide, whole int64
	scratch             rowgroup.Scratch
}

func newSizes(m *rowgroup.Manifest, copied bool) *sizes {
	return &sizes{manifest: m, copied: copied, decoded: sync.OnceValue(func() []decoded {
		all := make([]decoded, len(m.Groups()))
		for g := range all {
			all[g].narrow, all[g].wide = m.DecodedBytes(g)
			all[g].whole = min(m.WholeBytes(g), all[g].narrow)
			all[g].scratch = m.Scratch(g)
		}
		return all
	})}
}

// newLoad is the load of a span of a unit, charged for all rows that are decoded. divided says that
// it may become a block for each of its parts.
func (s *sizes) newLoad(u shuffle.Unit, sp shuffle.Span, divided bool) *load {
	lo, hi := u.Lo+sp.From, u.Lo+sp.To // each row is a sample
	c := s.cost(u.Group, lo, hi, divided)
	g := s.manifest.Groups()[u.Group]
	return &load{
		rows:  rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Lo: lo, Hi: hi},
		group: u.Group, parts: c.parts,
		est: estimate{fetch: c.fetch, decode: c.bytes() + c.scratch, scratch: c.scratch}, ready: make(chan struct{}),
	}
}

// A cost is what a load takes, in bytes.
type cost struct {
	fetch  int64
	whole  int64 // until the last row has left
	parted int64 // what is divided into parts, each of which goes with its last row
	parts  int

	scratch int64 // while it is decoded
}

// bytes of the blocks.
func (c cost) bytes() int64 { return c.whole + c.parted }

// beyondFree is the scratch that the process has no room for besides its accounts.
func (c cost) beyondFree() int64 { return max(0, c.scratch-freeScratch) }

func (s *sizes) cost(group int, lo, hi int64, divided bool) cost {
	g := s.manifest.Groups()[group]
	rows := hi - lo
	d := s.decoded()[group]
	c := cost{fetch: g.Compressed, scratch: d.scratch.Of(rows, g.Rows, divided) + rows*scratchBytes}
	if rows < g.Rows {
		d.wide = slice(d.wide, rows, g.Rows)
		d.narrow = slice(d.narrow, rows, g.Rows) + d.narrow/roundingPart*rows/g.Rows + blockBytes
		d.whole = min(d.whole+blockBytes, d.narrow) // a dictionary is that of the group
		if len(s.manifest.PageEdges(group)) > 0 {
			c.fetch = slice(c.fetch, rows, g.Rows)
		}
	}
	if s.copied {
		c.fetch = mem.ClassBytes(c.fetch)
	}
	d.narrow, d.whole = d.narrow+rows*orderBytes, d.whole+rows*orderBytes
	narrow := d.narrow - d.whole
	if c.parts = int(min(mostParts, max(d.wide/widePart, narrow/narrowPart), rows)); !divided || c.parts < 2 {
		c.whole, c.parts = d.narrow+d.wide, 0
		return c
	}
	parts := int64(c.parts)
	c.whole, c.parted = d.whole, d.wide+narrow+narrow/packingPart+min(parts*partEndBytes, parts*partEndBytes/2+narrow)
	if d.wide > 0 {
		c.parted += parts * wideEndBytes
	}
	return c
}

// slice is what rows of all rows take, with the pages across their edges.
func slice(bytes, rows, all int64) int64 {
	return min(bytes, mem.MulDiv(bytes, rows, all)+bytes/edgePart)
}
