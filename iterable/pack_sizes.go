package iterable

import (
	"sync"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

const (
	packScratch  = 48 // of a row, to lay documents out
	lengthsBytes = 8  // a document in a block: the number of its tokens, and its share of offsets
)

// packSizes predicts the bytes of packed samples.
type packSizes struct {
	columns []int64 // bytes of a sample in each list of tokens
	others  []int64 // by row group: the values of all other columns
}

// newPackSizes asks for the files' metadata once.
func newPackSizes(k *samples.Packing, m *rowgroup.Reader) func() packSizes {
	return sync.OnceValue(func() packSizes {
		s := packSizes{others: make([]int64, len(m.Groups()))}
		for i, c := range k.Layout.Columns {
			if c.Tokens {
				s.columns = append(s.columns, int64(k.Layout.Size)*int64(k.Layout.Schema().Fields[i].Children[0].Width))
			}
		}
		for g := range s.others {
			s.others[g] = m.PackedBytes(g, k.Layout)
		}
		return s
	})
}

// packedCost returns the cost of a load that keeps a number of a unit's samples: the unit as it is
// decoded, beside the blocks that are made of it.
func (s *sizes) packedCost(u shuffle.Unit, samples int64, divided bool) estimate.Cost {
	rows, all := u.Rows(), s.manifest.Groups()[u.Group].Rows
	d, p := s.decoded(u.Group), s.packed()
	scratch := d.Scratch.Of(rows, all, false) + estimate.Slice(d.Rule, rows, all, edgeBytes)
	if rows < all {
		d = d.Slice(rows, all)
	}
	c := estimate.Cost{Fetch: s.fetchBytes(u.Group, rows), Scratch: scratch + d.Narrow + d.Wide + rows*(scratchBytes+ruleScratch+packScratch)}
	documents := rows + u.Samples // each block may begin with the rest of a document
	others := mem.MulDiv(estimate.Slice(p.others[u.Group], rows, all, d.Scratch.Edges), documents, max(1, rows)) + documents*lengthsBytes
	others = mem.MulDiv(others, samples, max(1, u.Samples))
	tokens := int64(0)
	for _, n := range p.columns {
		tokens += n * samples
	}
	parts := p.parts(samples, tokens+others)
	if !divided || parts < 2 {
		c.Whole = p.blockBytes(samples, others)
		return c
	}
	c.Parts = int(parts)
	c.Parted = parts * p.blockBytes((samples+parts-1)/parts, others/parts)
	return c
}

// packedPart is bytes that a part of packed samples holds at least.
const packedPart = estimate.WidePart / 4 * 3

// parts returns into how many parts samples are divided. Their tokens are single buffers, so it
// is the number whose buffers fill the pool's sizes best, with one part more that is held until its
// last sample has left.
func (p packSizes) parts(samples, bytes int64) (best int64) {
	least := int64(0)
	for parts := min(estimate.MostParts, bytes/packedPart, samples); parts > 1; parts-- {
		held := int64(0)
		for _, column := range p.columns {
			held += (parts + 1) * mem.HeldBytes(column*((samples+parts-1)/parts)+keptSlack)
		}
		if best == 0 || held < least {
			best, least = parts, held
		}
	}
	return best
}

// blockBytes returns the bytes of a block of samples.
func (p packSizes) blockBytes(samples, others int64) int64 {
	n := estimate.InBlocks(others, 1)
	for _, column := range p.columns {
		n += mem.ClassBytes(column*samples + keptSlack)
	}
	return n
}

// keptSlack is the slack of an arena after an allocation.
const keptSlack = 128

// packedBytes returns the bytes of the values of all samples.
func (d *source) packedBytes() (n int64) {
	p := d.sizes.packed()
	for _, column := range p.columns {
		n += column * d.samples
	}
	for _, others := range p.others {
		n += others
	}
	return n + (d.manifest.NumRows()+d.samples)*lengthsBytes
}
