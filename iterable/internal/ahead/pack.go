package ahead

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// A packer makes the samples of loads of several rows each, for one goroutine.
type packer struct {
	*samples.Packing
	fit    *rule.Packer
	blocks *rowgroup.BlockPacker
	infill *rule.Infiller // nil leaves blocks as they are
	random rand.PCG

	rows     []uint32 // of the unit, of each document
	stated   []uint32 // tokens of the unit's rows by the column of lengths
	tokens   []uint32 // of the unit's rows
	lengths  []uint32 // of each document
	order    []uint32 // of the documents
	samples  []uint32 // in the order in which the blocks have them
	rowOrder []uint32
}

func newPacker(k *samples.Packing) *packer {
	return &packer{Packing: k, fit: k.NewFit(), blocks: rowgroup.NewPacker(k.Layout), infill: k.Spec.NewInfiller()}
}

// pack makes the blocks of a load.
func (y *layer) pack(l *Load) (blocks []*rowgroup.Block, extra int64, err error) {
	if blocks, extra, err = y.packUnit(l); err == nil && y.packer.infill != nil {
		y.reader.counts.add(Counts{Displaced: y.packer.fillIn(l, blocks, y.reader.Seed)})
	}
	return blocks, extra, err
}

// packUnit decodes the unit of a load, lays the documents that the rule keeps out as samples, and
// drops the rest.
func (y *layer) packUnit(l *Load) (blocks []*rowgroup.Block, extra int64, err error) {
	r := y.reader
	y.selector, y.packer = y.selectorOf(l.Rules), y.packerOf(l)
	p := y.packer
	if err := y.documents(l); err != nil {
		return nil, 0, err
	}
	blocks, extra, err = y.packDirect(l)
	if !errors.Is(err, rowgroup.ErrNotDirect) {
		return blocks, extra, err
	}
	decoded, err := y.decoder.Decode(l.raw, rowgroup.Layout{})
	if err != nil {
		return nil, 0, err
	}
	unit := decoded[0]
	defer unit.Release()
	if err := r.transform(y.decoder, decoded, p.needed(), l); err != nil {
		return nil, 0, err
	}
	if err := p.measureUnit(unit, l.Rows.Lo); err != nil {
		return nil, 0, l.inGroup(err)
	}
	rows := p.layOut(l)
	if n := int64(len(rows.Ends)); n != l.Samples {
		return nil, 0, samples.Error(l.Manifest, l.Rows, samples.Miscounted("samples", l.Samples, n))
	}
	r.truncated(p)
	extra = p.arrange(l)
	blocks, err = y.packParts(unit, rows, l.Parts)
	return blocks, extra, l.inGroup(err)
}

// packDirect makes the blocks of a load where its lists can be decoded straight into them, which
// needs their lengths first: by the column of lengths, or by the lists' levels.
func (y *layer) packDirect(l *Load) (blocks []*rowgroup.Block, extra int64, err error) {
	r, p := y.reader, y.packer
	if p.Bucket != nil || l.Transforms != nil {
		return nil, 0, rowgroup.ErrNotDirect
	}
	if err := y.rowTokens(l); err != nil {
		return nil, 0, err
	}
	p.lengths = p.lengths[:0]
	for _, row := range p.rows {
		p.lengths = append(p.lengths, p.tokens[row])
	}
	rows := p.layOut(l)
	if int64(len(rows.Ends)) != l.Samples {
		return nil, 0, rowgroup.ErrNotDirect
	}
	extra = p.arrange(l)
	blocks, err = y.decoder.DecodePacked(l.raw, p.blocks, p.tokens, rows, p.partOrders(l.Parts))
	if err == nil {
		r.truncated(p)
	}
	return blocks, extra, err
}

// rowTokens finds the tokens of each row of a load before its lists are decoded.
func (y *layer) rowTokens(l *Load) (err error) {
	p := y.packer
	if p.Declared {
		p.tokens = append(p.tokens[:0], p.stated...)
		return nil
	}
	known := false
	if p.tokens, known = p.Known.Rows(samples.LengthKey{Pack: p.Packing, Group: l.Group, Lo: l.Rows.Lo}, int(l.Rows.Hi-l.Rows.Lo), p.tokens[:0]); known {
		return nil
	}
	p.tokens, err = y.decoder.Lengths(l.raw, p.Layout, p.tokens[:0])
	return err
}

// layOut lays the documents of a load out as blocks.
func (p *packer) layOut(l *Load) rowgroup.PackedRows {
	p.order = documentOrder(l.Wanted[0], len(p.rows), p.order)
	pieces, ends := p.fit.Layout(p.lengths, p.order)
	return rowgroup.PackedRows{Rows: p.rows, Pieces: pieces, Ends: ends}
}

// packerOf packs the documents of a load's source.
func (y *layer) packerOf(l *Load) *packer {
	k := l.Rules.Pack
	if y.packers[k] == nil {
		y.packers[k] = newPacker(k)
	}
	return y.packers[k]
}

// documents lists the documents of a load.
func (y *layer) documents(l *Load) error {
	p, s := y.packer, y.selector
	var columns []rule.Column
	if s.Rules.DecodesFirst() {
		var err error
		if columns, err = y.decoder.DecodeRule(l.raw); err != nil {
			return err
		}
	}
	p.rows, p.stated = p.rows[:0], p.stated[:0]
	if columns == nil {
		sel := s.Begin(l.Group, l.Rows.Lo, l.Rows.Hi)
		p.rows = sel.Documents(0, sel.Rows, p.rows)
		return nil
	}
	finish := s.Finish
	if p.Texts() { // the load makes the tokens
		finish = s.Choose
	}
	sel, err := finish(l.Group, l.Rows.Lo, l.Rows.Hi, columns, false)
	if err != nil {
		return samples.Error(l.Manifest, l.Rows, err)
	}
	p.rows = sel.Documents(0, sel.Rows, p.rows)
	p.stated = append(p.stated, sel.Lengths...)
	return nil
}

// measureUnit finds the tokens of each document. The column of lengths must have told them.
func (p *packer) measureUnit(unit *rowgroup.Block, first int64) (err error) {
	if p.Bucket != nil && p.Texts() {
		col := p.TextColumn()
		p.tokens = p.tokens[:0]
		for row := range unit.Rows() {
			p.tokens = append(p.tokens, unit.ListItems(col, row))
		}
	} else if p.Bucket != nil {
		p.tokens = append(p.tokens[:0], p.stated...)
	} else if p.tokens, err = p.Layout.Lengths(unit, first, p.tokens[:0]); err != nil {
		return err
	}
	p.lengths = p.lengths[:0]
	for _, row := range p.rows {
		p.lengths = append(p.lengths, p.tokens[row])
		if p.Declared && p.stated[row] != p.tokens[row] {
			return &rowgroup.Error{
				Op: "pack", Column: p.Spec.Length, RowGroup: -1, Page: -1, Hint: "leave it out, so that the lists themselves are counted",
				Err: fmt.Errorf("it has %d for row %d of the row group, whose list makes %d with what is written around it", p.stated[row], first+int64(row), p.tokens[row]),
			}
		}
	}
	return nil
}

// needed returns the rows of a load that need tokens, or nil for all.
func (p *packer) needed() []uint32 {
	if len(p.rows) == 0 || !p.MakesAll() {
		return nil
	}
	return p.rows
}

// documentOrder returns the order in which the documents of a unit are packed: the epoch's, or
// without shuffle the file's.
func documentOrder(w Wanted, n int, dst []uint32) []uint32 {
	if w.Lane != nil {
		return w.Lane.RuleOrder(int(w.Span), n, dst)
	}
	dst = slices.Grow(dst[:0], n)[:n]
	for i := range dst {
		dst[i] = uint32(i)
	}
	return dst
}

// arrange sets the order of a load's samples, and returns the bytes of the orders of its spans: the
// one in which they leave when one span has the blocks for itself, else by number.
func (p *packer) arrange(l *Load) (bytes int64) {
	l.orders, l.placed = make([][]uint32, len(l.Wanted)), false
	p.samples = p.samples[:0]
	if w := l.Wanted[0]; len(l.Wanted) == 1 && w.Lane != nil {
		p.rowOrder = w.Lane.RowOrder(int(w.Span), p.rowOrder)
		for _, s := range p.rowOrder {
			p.samples = append(p.samples, uint32(l.Span.From)+s)
		}
		return 0
	}
	for s := l.Span.From; s < l.Span.To; s++ {
		p.samples = append(p.samples, uint32(s))
	}
	for i, w := range l.Wanted {
		if w.Lane != nil {
			l.orders[i] = w.Lane.RowOrder(int(w.Span), nil)
			bytes += int64(w.Rows) * OrderBytes
		}
	}
	return bytes
}

// packParts makes a block of each of n parts of the samples; 0 is one.
func (y *layer) packParts(unit *rowgroup.Block, rows rowgroup.PackedRows, n int) (blocks []*rowgroup.Block, err error) {
	for _, rows.Order = range y.packer.partOrders(n) {
		b, err := y.decoder.Pack(y.packer.blocks, unit, rows)
		if err != nil {
			for _, made := range blocks {
				made.Release()
			}
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// partOrders returns the samples of each of n parts; 0 is one.
func (p *packer) partOrders(parts int) (orders [][]uint32) {
	parts = max(1, parts)
	for i, from := 0, 0; i < parts; i++ {
		to := PartEnd(len(p.samples), parts, i)
		orders, from = append(orders, p.samples[from:to]), to
	}
	return orders
}

// fillIn permutes the documents of a load's blocks, and returns the tokens that this displaces.
func (p *packer) fillIn(l *Load, blocks []*rowgroup.Block, seed uint64) (lost int64) {
	of := l.Wanted[0].Key
	for i, numbers := range p.partOrders(l.Parts) {
		for row, sample := range numbers {
			p.random.Seed(shuffle.RuleSeed(seed, of.Epoch, of.Source, l.Group, l.Rows.Lo, int64(sample)))
			tokens, width, lengths := blocks[i].PackedRow(p.Tokens, row)
			lost += p.infill.Block(tokens, width, lengths, &p.random)
		}
	}
	return lost
}

// inGroup says in which row group an error of the packing is.
func (l *Load) inGroup(err error) error {
	var e *rowgroup.Error
	if errors.As(err, &e) {
		e.URI, e.RowGroup = l.Manifest.Shards()[l.Rows.Shard].URI, l.Rows.RowGroup
	}
	return err
}

// truncated counts documents that lose tokens, and reports the first.
func (r *Reader) truncated(p *packer) {
	documents, tokens := p.fit.Truncated(p.lengths)
	if documents == 0 {
		return
	}
	r.counts.add(Counts{Truncated: documents})
	if r.Truncated != nil {
		r.Truncated(documents, tokens)
	}
}
