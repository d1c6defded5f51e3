package iterable

import (
	"math/bits"
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	wideParts    = 8         // parts that a load's wide columns are spread over, when they are large enough
	widePart     = 1 << 20   // bytes that a part holds at least
	partEndBytes = 128 << 10 // of a part's last chunk stay empty
	blockBytes   = 48 << 10  // that the smallest slice takes
	orderBytes   = 4         // of a row's place in the order in which its span leaves
	roundingPart = 8         // what is cut into pieces takes 1/roundingPart more, rounded to the pool's sizes
	edgePart     = 16        // a slice of a row group is charged 1/edgePart of the group more, for pages across its edges and dictionaries
)

// sizes predicts what loads take, from the files' metadata. It is safe for concurrent use.
type sizes struct {
	manifest *rowgroup.Manifest
	copied   bool             // bytes are read into the pool's buffers, not lent
	decoded  func() []decoded // by group
}

// decoded is what a group takes in memory, in bytes: its narrow columns and its wide ones.
type decoded struct {
	narrow, wide int64
}

func newSizes(m *rowgroup.Manifest, copied bool) *sizes {
	return &sizes{manifest: m, copied: copied, decoded: sync.OnceValue(func() []decoded {
		all := make([]decoded, len(m.Groups()))
		for g := range all {
			all[g].narrow, all[g].wide = m.DecodedBytes(g)
		}
		return all
	})}
}

// newLoad is the load of a span of a unit, charged for all rows that are decoded. spread says that its wide columns may lie in parts.
func (s *sizes) newLoad(u shuffle.Unit, sp shuffle.Span, spread bool) *load {
	c := s.cost(u.Group, sp.Lo, sp.Hi, spread)
	return &load{
		rows: rowsOf(s.manifest, u.Group, sp.Lo, sp.Hi), selected: u.Selected(sp), group: u.Group, parts: c.parts,
		est: estimate{fetch: c.fetch, decode: c.narrow + c.wide}, ready: make(chan struct{}),
	}
}

// A cost is what a load takes, in bytes.
type cost struct {
	fetch  int64
	narrow int64 // until the last row has left
	wide   int64 // of the wide columns, when they are spread over parts; else they count as narrow
	parts  int
}

func (s *sizes) cost(group int, lo, hi int64, spread bool) cost {
	g := s.manifest.Groups()[group]
	rows := hi - lo
	narrow, wide := s.decoded()[group].narrow, s.decoded()[group].wide
	c := cost{fetch: g.Compressed, narrow: narrow, wide: wide}
	if rows < g.Rows {
		c.narrow = slice(narrow, rows, g.Rows) + narrow/roundingPart*rows/g.Rows + blockBytes
		c.wide = slice(wide, rows, g.Rows)
		if len(s.manifest.PageEdges(group)) > 0 {
			c.fetch = slice(c.fetch, rows, g.Rows)
		}
	}
	if s.copied {
		c.fetch = mem.ClassBytes(c.fetch)
	}
	c.narrow += rows * orderBytes
	if c.parts = int(min(wideParts, c.wide/widePart, rows)); !spread || c.parts < 2 {
		c.narrow, c.wide, c.parts = c.narrow+c.wide, 0, 0
	}
	c.wide += int64(c.parts) * partEndBytes
	return c
}

// slice is what rows of all rows take, with the pages across their edges.
func slice(bytes, rows, all int64) int64 {
	return min(bytes, mulDiv(bytes, rows, all)+bytes/edgePart)
}

// mulDiv is floor(a*b/c) for numbers that are not negative and a result below 2^63.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}
