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
	mostParts    = 16                            // that a load is divided into by the order in which its rows leave, when it is large enough
	widePart     = 1 << 20                       // bytes of wide columns that a part holds at least
	narrowPart   = 512 << 10                     // or of narrow ones
	wideEndBytes = 64 << 10                      // of a part's last chunk of wide values stay empty
	partEndBytes = 64 << 10                      // at most, of the last of the buffers that its narrow columns share: these start with half of it, and double
	keptPart     = wideEndBytes + partEndBytes/2 // what each part of few rows takes more
	packingPart  = 16                            // narrow columns of a part take 1/packingPart more, if they do not fill the buffers that they share
	blockBytes   = 48 << 10                      // that the smallest slice takes
	roundingPart = 8                             // what is cut into pieces takes 1/roundingPart more, rounded to the pool's sizes
	scratchBytes = 5                             // of a row, for the order and the parts in which its span leaves
	ruleScratch  = 16                            // of a row, for what the rule keeps: bits of each condition, the row's number, how often it comes
	freeScratch  = 16 << 20                      // of one decoder, that no account counts: the process has as much beside them, as the promise of its memory says
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
		Group: u.Group, Parts: c.parts,
		Estimate: ahead.Estimate{Fetch: c.fetch, Decode: c.bytes() + c.scratch, Scratch: c.scratch},
	}
}

// spanCost returns the cost of a load of a span.
func (s *sizes) spanCost(u shuffle.Unit, sp shuffle.Span, divided bool) (c cost) {
	switch {
	case !s.ruled:
		c = s.cost(u.Group, u.Lo+sp.From, u.Lo+sp.To, divided)
	case s.pack != nil:
		c = s.packedCost(u, sp.Rows(), divided)
	default:
		c = s.ruledCost(u, sp.Rows(), divided && !s.repeats)
	}
	c.scratch += s.encoders
	return c
}

// A cost has the bytes of a load.
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

// cost returns the cost of a load of rows, each of which is a sample.
func (s *sizes) cost(group int, lo, hi int64, divided bool) cost {
	g, rows := s.manifest.Groups()[group], hi-lo
	d, heft := s.decoded(group), s.heft(group, lo, hi)
	c := cost{fetch: s.fetchBytes(group, heft), scratch: d.Scratch.Of(heft, g.Rows, divided) + rows*scratchBytes}
	if rows < g.Rows {
		d.Narrow, d.Wide, d.Whole = sliceGroup(d, heft, g.Rows)
	}
	return c.divide(d, rows, divided)
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
		if need := c.bytes() + c.scratch; need <= most || rows <= leastRows {
			return max(1, rows)
		}
		rows /= 2
	}
}

// ruledCost returns the cost of a load that keeps some samples of a unit, when the rule's
// columns are decoded first.
func (s *sizes) ruledCost(u shuffle.Unit, samples int64, divided bool) cost {
	return s.ruledCostBy(s.kept, u, samples, divided)
}

// ruledCostBy is ruledCost with what blocks of few rows of a group take.
func (s *sizes) ruledCostBy(kept func(group int, rows int64) rowgroup.Kept, u shuffle.Unit, samples int64, divided bool) cost {
	rows, held := u.Rows(), min(samples, u.Rows())
	all := s.manifest.Groups()[u.Group].Rows
	d, heft := s.decoded(u.Group), s.heft(u.Group, u.Lo, u.Hi)
	c := cost{fetch: s.fetchBytes(u.Group, heft), scratch: d.Scratch.OfKept(held, rows, all) + slice(d.Rule, heft, all, edgeBytes) + rows*(scratchBytes+ruleScratch)}
	if 2*held < rows { // else the blocks have the memory of all rows
		return c.divideKept(kept(u.Group, held), samples, divided)
	}
	if rows < all {
		d.Narrow, d.Wide, d.Whole = sliceGroup(d, heft, all)
	}
	return c.divide(d, samples, divided)
}

// kept returns the bytes of blocks that hold a number of a group's rows.
func (s *sizes) kept(group int, rows int64) rowgroup.Kept {
	key := [2]int64{int64(group), rows}
	if k, ok := s.few.Load(key); ok {
		return k.(rowgroup.Kept)
	}
	k, d := s.manifest.KeptBytes(group, rows), s.decoded(group)
	lists := slice(d.Lists, rows, s.manifest.Groups()[group].Rows, math.MaxInt64)
	k.Wide, k.Most = k.Wide+lists, k.Most+d.Lists
	s.few.Store(key, k)
	return k
}

// fetchBytes returns the bytes that a load of a group's rows fetches.
func (s *sizes) fetchBytes(group int, rows int64) int64 {
	g := s.manifest.Groups()[group]
	n := g.Compressed
	if rows < g.Rows && s.manifest.HasPages(group) {
		n = slice(n, rows, g.Rows, math.MaxInt64)
	}
	if s.copied {
		n = mem.ClassBytes(n)
	}
	return n
}

// sliceGroup returns the bytes of some of all rows of a group.
func sliceGroup(d estimate.Group, rows, all int64) (narrow, wide, whole int64) {
	wide = slice(d.Wide, rows, all, d.Scratch.Edges)
	narrow = slice(d.Narrow, rows, all, d.Scratch.Edges) + d.Narrow/roundingPart*rows/all + blockBytes
	return narrow, wide, min(d.Whole+blockBytes, narrow) // a dictionary is the group's
}

// divide adds the blocks of samples.
func (c cost) divide(d estimate.Group, samples int64, divided bool) cost {
	d.Narrow, d.Whole = d.Narrow+samples*ahead.OrderBytes, d.Whole+samples*ahead.OrderBytes
	narrow := d.Narrow - d.Whole
	if c.parts = int(min(mostParts, max(d.Wide/widePart, narrow/narrowPart), samples)); !divided || c.parts < 2 {
		c.whole, c.parts = d.Narrow+d.Wide, 0
		return c
	}
	c.whole, c.parted = d.Whole, partedBytes(narrow, d.Wide, int64(c.parts))
	return c
}

// divideKept adds the blocks of samples that are few of a unit's rows. They stay in the buffer as
// long as all rows would, so that it holds many such units. So each has parts although it is small,
// in the number that minimizes the buffer's average memory when each part takes keptPart more.
func (c cost) divideKept(k rowgroup.Kept, samples int64, divided bool) cost {
	order := samples * ahead.OrderBytes
	c.parts = int(min(mostParts, max(k.Wide/widePart, k.Divided/narrowPart, int64(math.Sqrt(float64(k.Wide/keptPart)))), samples))
	if !divided || c.parts < 2 {
		c.whole, c.parts = k.Narrow+k.Wide+blockBytes+order, 0
		return c
	}
	c.whole, c.parted = k.Whole+order, partedBytes(k.Divided, k.Wide, int64(c.parts))
	return c
}

// partedBytes returns the bytes of parts of narrow and wide columns together.
func partedBytes(narrow, wide, parts int64) int64 {
	n := wide + narrow + narrow/packingPart + min(parts*partEndBytes, parts*partEndBytes/2+narrow)
	if wide > 0 {
		n += parts * wideEndBytes
	}
	return n
}

// slice estimates the bytes of some of all rows, including the pages across their edges, which hold
// about edges bytes.
func slice(bytes, rows, all, edges int64) int64 {
	return min(bytes, mem.MulDiv(bytes, rows, all)+min(bytes/samples.EdgePart, edges))
}
