package iterable

import (
	"math"
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
)

const (
	scratchBytes = 5  // of a row, for the order and the parts in which its span leaves
	ruleScratch  = 16 // of a row, for what the rule keeps: bits of each condition, the row's number, how often it comes
	edgeBytes    = samples.EdgeBytes
	leastRows    = 1 << 10 // rows that are decoded together though they take more: pages have as many
)

// sizes predicts what loads take, from the files' metadata. It is safe for concurrent use.
type sizes struct {
	manifest *rowgroup.Reader
	rules    *samples.Rules   // nil: each row is a sample
	before   int              // row groups of the sources before
	copied   bool             // bytes are read into the pool's buffers, not lent
	ruled    bool             // a load reads whole units, of which a rule keeps some rows
	repeats  bool             // rows may come more than once, and then loads are not divided
	pack     *samples.Packing // nil: no sample has several rows
	packed   func() packSizes // with pack
	decoded  func(group int) estimate.Group
	total    func() (decoded, values int64) // of all groups, each as a block of its own
	few      sync.Map                       // rowgroup.Kept by group and rows
	encoders int64                          // bytes of a goroutine that makes tokens

	transforms *transform.Columns // nil leaves columns
}

func newSizes(m *rowgroup.Reader, t *transform.Columns, copied bool) *sizes {
	_, encoders := t.Memory()
	return &sizes{manifest: m, transforms: t.OrNil(), copied: copied, decoded: estimate.NewGroups(m, t.Tokenized()).Of, total: sync.OnceValues(m.TotalBytes), encoders: encoders}
}

// newLoad returns the load of a span of a unit, charged for all rows that are decoded. divided lets
// it become a block for each of its parts.
func (s *sizes) newLoad(u shuffle.Unit, sp shuffle.Span, divided bool) *ahead.Load {
	lo, hi := u.Lo+sp.From, u.Lo+sp.To // each row is a sample
	if s.ruled {                       // which rows are samples shows when all are there
		lo, hi = u.Lo, u.Hi
	}
	c := s.spanCost(u, sp, divided)
	g := s.manifest.Groups()[u.Group]
	return &ahead.Load{
		Manifest: s.manifest, Rules: s.rules, Transforms: s.transforms, Place: s.before + u.Group,
		Rows: rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup), Lo: lo, Hi: hi}, Span: sp, Samples: u.Samples,
		Group: u.Group, Parts: c.Parts,
		Estimate: ahead.Estimate{Fetch: c.Fetch, Decode: c.Bytes() + c.Scratch, Scratch: c.Scratch},
	}
}

// spanCost returns the cost of a load of a span.
func (s *sizes) spanCost(u shuffle.Unit, sp shuffle.Span, divided bool) (c estimate.Cost) {
	switch {
	case !s.ruled:
		c = s.cost(u.Group, u.Lo+sp.From, u.Lo+sp.To, divided)
	case s.pack != nil:
		c = s.packedCost(u, sp.Rows(), divided)
	default:
		c = s.ruledCost(u, sp.Rows(), divided && !s.repeats)
	}
	c.Scratch += s.encoders
	return c
}

// cost returns the cost of a load of rows, each of which is a sample.
func (s *sizes) cost(group int, lo, hi int64, divided bool) estimate.Cost {
	g, rows := s.manifest.Groups()[group], hi-lo
	d, heft := s.decoded(group), s.heft(group, lo, hi)
	c := estimate.Cost{Fetch: s.fetchBytes(group, heft), Scratch: d.Scratch.Of(heft, g.Rows, divided) + rows*scratchBytes}
	if rows < g.Rows {
		d = d.Slice(heft, g.Rows)
	}
	return c.Divide(d, rows, divided)
}

// evenPart is by how much the rows of a slice may be larger than the mean of their group before
// they count for more: bytes of pages show no more than that.
const evenPart = 8

// heft returns the rows of a slice of a group, or, if they are larger than most, the number of
// average rows of the same size: in a table that is sorted by length the last ones are larger.
func (s *sizes) heft(group int, lo, hi int64) int64 {
	rows, all := hi-lo, s.manifest.Groups()[group].Rows
	if rows == all {
		return rows
	}
	if heft := s.manifest.Heft(group, lo, hi); heft > rows+rows/evenPart {
		return min(heft, all)
	}
	return rows
}

// step returns how many rows of a group can be decoded together in most bytes.
func (s *sizes) step(group int, most int64) int64 {
	rows := s.manifest.Groups()[group].Rows
	for {
		c := s.cost(group, 0, rows, false)
		if need := c.Bytes() + c.Scratch; need <= most || rows <= leastRows {
			return max(1, rows)
		}
		rows /= 2
	}
}

// ruledCost returns the cost of a load that keeps some samples of a unit, when the rule's
// columns are decoded first.
func (s *sizes) ruledCost(u shuffle.Unit, samples int64, divided bool) estimate.Cost {
	return s.ruledCostBy(s.kept, u, samples, divided)
}

// ruledCostBy is ruledCost with what blocks of few rows of a group take.
func (s *sizes) ruledCostBy(kept func(group int, rows int64) rowgroup.Kept, u shuffle.Unit, samples int64, divided bool) estimate.Cost {
	rows, held := u.Rows(), min(samples, u.Rows())
	all := s.manifest.Groups()[u.Group].Rows
	d, heft := s.decoded(u.Group), s.heft(u.Group, u.Lo, u.Hi)
	c := estimate.Cost{Fetch: s.fetchBytes(u.Group, heft), Scratch: d.Scratch.OfKept(held, rows, all) + estimate.Slice(d.Rule, heft, all, edgeBytes) + rows*(scratchBytes+ruleScratch)}
	if 2*held < rows { // else the blocks have the memory of all rows
		return c.DivideKept(kept(u.Group, held), samples, divided)
	}
	if rows < all {
		d = d.Slice(heft, all)
	}
	return c.Divide(d, samples, divided)
}

// kept returns the bytes of blocks that hold a number of a group's rows.
func (s *sizes) kept(group int, rows int64) rowgroup.Kept {
	key := [2]int64{int64(group), rows}
	if k, ok := s.few.Load(key); ok {
		return k.(rowgroup.Kept)
	}
	k, d := s.manifest.KeptBytes(group, rows), s.decoded(group)
	lists := estimate.Slice(d.Lists, rows, s.manifest.Groups()[group].Rows, math.MaxInt64)
	k.Wide, k.Most = k.Wide+lists, k.Most+d.Lists
	s.few.Store(key, k)
	return k
}

// fetchBytes returns the bytes that a load of a group's rows fetches.
func (s *sizes) fetchBytes(group int, rows int64) int64 {
	g := s.manifest.Groups()[group]
	n := g.Compressed
	if rows < g.Rows && s.manifest.HasPages(group) {
		n = estimate.Slice(n, rows, g.Rows, math.MaxInt64)
	}
	if s.copied {
		n = mem.ClassBytes(n)
	}
	return n
}
