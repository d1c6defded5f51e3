package iterable

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// A cut is how row groups are cut into units.
type cut struct {
	rows   int64 // unit_rows; 0 is by the rule
	memory int64 // that a stream in file order fits into, whose order does not depend on units; 0 cuts for no memory
}

// ownCut is the cut of the options.
func (d *source) ownCut() cut {
	if d.options.Shuffle {
		return cut{rows: d.options.UnitRows}
	}
	return d.fileCut()
}

// fileCut is the cut of the order of the files. A packing makes other samples of other units.
func (d *source) fileCut() cut {
	c := cut{rows: d.options.UnitRows}
	if c.rows == 0 && d.packing() == nil {
		c.memory = d.fileMemory
	}
	return c
}

// ownUnits returns the units of the options, with their samples.
func (d *source) ownUnits() (*shuffle.Units, error) {
	return d.cutWithin(context.Background(), d.ownCut())
}

// cut returns the units of the manifest, with their samples; unitRows pins their size.
func (d *source) cut(unitRows int64) (*shuffle.Units, error) {
	return d.cutWithin(context.Background(), cut{rows: unitRows})
}

// cutWithin returns the units of a cut; ctx ends the counting that a rule may need.
func (d *source) cutWithin(ctx context.Context, c cut) (*shuffle.Units, error) {
	if u := d.unitsOf(c); u != nil {
		return u, nil
	}
	select {
	case d.cutting <- struct{}{}:
		defer func() { <-d.cutting }()
	case <-ctx.Done():
		return nil, cause.Of(ctx)
	}
	if u := d.unitsOf(c); u != nil {
		return u, nil
	}
	u, finer, err := d.divide(c)
	if err != nil {
		return nil, err
	}
	plain := cut{rows: c.rows}
	if known := d.unitsOf(plain); known != nil && !finer {
		return d.keepUnits(known, c), nil
	}
	if d.rules != nil {
		list := u.List()
		if d.like != nil {
			d.share(list)
		} else if err := d.count(ctx, list, c.rows, finer); err != nil {
			return nil, err
		}
		u = shuffle.ListUnits(list)
	}
	if !finer {
		d.keepUnits(&u, plain)
	}
	return d.keepUnits(&u, c), nil
}

// count sets the samples of units that were cut with unitRows. Others know no counts of units that
// are finer, for the memory here.
func (d *source) count(ctx context.Context, units []shuffle.Unit, unitRows int64, finer bool) error {
	counts := d.options.Inventory.Counts(d.data.Rule, len(units), unitRows)
	if p := d.options.Plan; p != nil && p.Fits(units, unitRows) {
		counts = p.Counts
	}
	if counts != nil && !finer {
		for u := range units {
			units[u].Samples = counts[u]
		}
		return nil
	}
	how := samples.Counting{
		IndexDir: d.options.IndexDir, Share: d.options.CountShare, Identity: func(uri string) string { return shard.Identity(d.stores, uri) },
		Reading: fmt.Sprintf("%t\x00%q", d.options.ReplaceUTF8, d.options.PartitionTypes),
		Counted: d.options.Events.Counted, Estimated: d.options.Events.Tokenizing, Unusable: d.options.indexUnusable,
	}
	if on := d.options.OnError; on == Mask || on == Skip {
		how.Lose = d.lose
	}
	t, err := d.reading.Count(ctx, units, how)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.totals.Keep(t)
	return err
}

// counted returns what counting found.
func (d *source) counted() samples.Totals {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.totals
}

// indexUnusable reports that the index directory cannot be used.
func (o Options) indexUnusable(err error) {
	if say := o.Events.IndexUnusable; say != nil {
		say(o.IndexDir, err)
	}
}

// neverCut is the bytes and the rows under which CutUnits leaves a group whole, unless unit_rows is
// pinned.
const neverCut = 16 << 20

// divide cuts the row groups. finer reports whether units are cut for the memory.
func (d *source) divide(c cut) (u shuffle.Units, finer bool, err error) {
	groups := d.manifest.Groups()
	u, err = shuffle.CutUnits(d.data, func(g int) shuffle.Layout {
		if c.rows == 0 && groups[g].Bytes < neverCut && groups[g].Rows < neverCut {
			return shuffle.Layout{Bytes: groups[g].Bytes} // its pages would not be asked for
		}
		return shuffle.Layout{
			Bytes: groups[g].Bytes, Pages: d.manifest.PageEdges(g),
			Decoded: func(edges []int64) int64 { return d.manifest.SlicedBytes(g, edges) },
		}
	}, c.rows)
	if err != nil || c.memory == 0 {
		return u, false, err
	}
	least := d.options.StoreMemory + c.memory/otherPart
	pieces := func(u shuffle.Unit) int64 { return d.sizes.pieces(u, c.memory-least) }
	for _, one := range u.All() {
		if pieces(one) > 1 {
			u, err = u.Finer(pieces)
			return u, true, err
		}
	}
	return u, false, nil
}

// otherPart is the part of a stream's memory that cuts leave to batches and what else it holds.
const otherPart = 4

// pieces is into how many pieces of the same rows a unit is cut, so that a stream in file order
// fits into memory: 1 if no cut would fit.
func (s *sizes) pieces(u shuffle.Unit, memory int64) int64 {
	for n := int64(1); n <= u.Rows() && n <= mostPieces; n *= 2 {
		if s.fits(u, n, memory) {
			return n
		}
	}
	return 1
}

const mostPieces = 1 << 20 // of a unit

// fits reports whether a stream that reads pieces of the unit fits into memory.
func (s *sizes) fits(u shuffle.Unit, pieces, memory int64) bool {
	for i := range pieces {
		piece := shuffle.Unit{Group: u.Group, Lo: u.Lo + mem.MulDiv(u.Rows(), i, pieces), Hi: u.Lo + mem.MulDiv(u.Rows(), i+1, pieces)}
		c := s.fileCost(piece)
		if c.Fetch+fileBlocks*c.Bytes()+c.BeyondFree() > memory {
			return false
		}
		if !s.manifest.HasPages(u.Group) {
			break // all pieces are estimated alike
		}
	}
	return true
}

// fileBlocks is how many units a stream in file order holds: one that is decoded, two in the
// buffer, and one of draws.
const fileBlocks = 4

// fileCost is the most that a unit in file order takes, however many of its rows a rule keeps. It
// remembers nothing: no stream asks for the same rows.
func (s *sizes) fileCost(u shuffle.Unit) estimate.Cost {
	if !s.ruled {
		return s.cost(u.Group, u.Lo, u.Hi, false)
	}
	return s.ruledCost(u, u.Rows(), false).Largest(s.ruledCostBy(s.manifest.KeptBytes, u, (u.Rows()-1)/2, false))
}

// unitsOf returns units that were cut before, else nil.
func (d *source) unitsOf(c cut) *shuffle.Units {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.units[c]
}

// keepUnits keeps the units of a cut.
func (d *source) keepUnits(u *shuffle.Units, c cut) *shuffle.Units {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units[c] = u
	return u
}
