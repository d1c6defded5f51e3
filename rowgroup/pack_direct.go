package rowgroup

import (
	"errors"

	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/rule"
)

// ErrNotDirect is the error of units whose lists cannot be decoded straight into packed blocks:
// they are decoded to a block of rows, and packed from there.
var ErrNotDirect = errors.New("lists are not decoded straight into packed blocks")

// Lengths appends the tokens of each row of a unit to dst, see [Packing.Lengths], from the levels
// of its first column of tokens. It returns ErrNotDirect if the levels do not determine them.
func (d *Decoder) Lengths(r *Raw, p *Packing, dst []uint32) ([]uint32, error) {
	col := p.firstTokens()
	if col < 0 || !d.direct(r, p) {
		return dst, ErrNotDirect
	}
	err := r.use(func() (err error) {
		defer caught(&err)
		dst, err = d.levelLengths(r, col, p.extra(), dst)
		return err
	})
	d.forget()
	d.trim()
	if err != nil { // decoding reports the error
		return dst, ErrNotDirect
	}
	return dst, nil
}

func (p *Packing) firstTokens() int {
	for i := range p.Columns {
		if p.Columns[i].Tokens {
			return i
		}
	}
	return -1
}

// direct reports whether the columns of tokens are lists in the file that nothing has decoded yet,
// and the unit's pages hold only its rows.
func (d *Decoder) direct(r *Raw, p *Packing) bool {
	if r.reachesOut() || r.tier != nil {
		return false
	}
	for i, n := range r.columns {
		if !p.Columns[i].Tokens {
			continue
		}
		if n.Missing || n.Partition != nil || !n.IsListOfLeaves() || d.held.has(r, i) {
			return false
		}
	}
	return true
}

// levelLengths reads the levels of a list. Its bytes are verified and given back by the decoding
// that follows, which reads them again.
func (d *Decoder) levelLengths(r *Raw, col int, extra uint32, dst []uint32) ([]uint32, error) {
	lent := r.lent
	r.lent = nil
	defer func() { r.lent = lent }()
	d.raw, d.rows, d.layout = r, r.Rows, Layout{}
	d.arena, d.keep, d.dict = d.loose, d.loose, d.loose
	d.chunks = r.chunks[len(schema.LeavesOf(r.columns[:col])):]
	list := *r.columns[col]
	item := *list.Children[0]
	leaf := *item.Leaf
	leaf.Convert = schema.ConvertNull
	item.Leaf = &leaf
	chunk := d.chunks[0]
	chunk.leaf = &leaf
	d.chunks = []rawChunk{chunk}
	s := &d.lists
	*s = listShape{node: &list}
	c, skip, total, err := d.listRows(&item, s)
	if err != nil {
		return dst, err
	}
	if skip != 0 {
		return dst, ErrNotDirect
	}
	s.starts = append(s.starts, uint32(c.slots))
	for row := range total {
		n := s.starts[row+1] - s.starts[row]
		if n > 0 {
			n += extra
		}
		dst = append(dst, n)
	}
	return dst, nil
}

// DecodePacked decodes a unit into a packed block for each of the orders, as Decode and
// [Decoder.Pack] do, with the lists written once. lengths is the tokens of each of its rows,
// and rows.Order is not used. It is ErrNotDirect where the unit needs those two steps.
func (d *Decoder) DecodePacked(r *Raw, p *BlockPacker, lengths []uint32, rows PackedRows, orders [][]uint32) ([]*Block, error) {
	if !d.direct(r, p.packing) || len(lengths) != int(r.Rows.Hi-r.Rows.Lo) {
		return nil, ErrNotDirect
	}
	u := &packedUnit{packer: p, lengths: lengths, rows: rows}
	for _, order := range orders {
		b := packedBlock{BlockPacker: p, rows: rows, arena: d.newArena(), direct: make([]*block.Vector, len(p.packing.Columns))}
		b.rows.Order = order
		u.blocks = append(u.blocks, b)
	}
	blocks, err := d.decodePacked(r, u)
	for i := range u.blocks {
		if err != nil {
			u.blocks[i].arena.Free()
		} else {
			u.blocks[i].arena.Leave()
		}
	}
	return blocks, err
}

func (d *Decoder) decodePacked(r *Raw, u *packedUnit) (blocks []*Block, err error) {
	d.packed = u
	defer func() { d.packed = nil }()
	defer func() {
		if e := (*sizeError)(nil); errors.As(err, &e) && !errors.As(err, new(*Error)) {
			err = d.failed(r, err)
		}
	}()
	defer caught(&err)
	decoded, err := d.Decode(r, Layout{})
	if err != nil {
		return nil, err
	}
	unit := decoded[0]
	defer unit.Release()
	for i := range u.blocks {
		c := &u.blocks[i]
		c.from = unit
		b, err := c.finish()
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// A packedUnit is a unit whose lists are decoded straight into packed blocks.
type packedUnit struct {
	packer  *BlockPacker
	lengths []uint32 // tokens of each row
	rows    PackedRows
	blocks  []packedBlock
}

// has reports whether a column is decoded so; u may be nil.
func (u *packedUnit) has(i int) bool { return u != nil && u.packer.packing.Columns[i].Tokens }

// decode decodes a column of tokens. The lengths must match the lengths with which the blocks were
// laid out.
func (u *packedUnit) decode(d *Decoder, i int, n *schema.Node) error {
	sink, err := u.lay(i)
	if err != nil {
		return err
	}
	s := &d.lists
	*s = listShape{node: n}
	d.sink = sink
	defer func() { d.sink = nil }()
	c, skip, total, err := d.listRows(n.Children[0], s)
	if err != nil {
		return err
	}
	if skip != 0 || total != len(u.lengths) || !sink.complete() {
		return ErrNotDirect
	}
	s.starts = append(s.starts, uint32(c.slots))
	extra, at := u.packer.packing.extra(), uint32(0)
	for row, tokens := range u.lengths {
		if s.starts[row] != at {
			return ErrNotDirect
		}
		at += items(tokens, extra)
	}
	if s.starts[total] != at {
		return ErrNotDirect
	}
	return checkListSize(&block.Vector{Field: n.Field, Len: total, Nulls: s.nulls, Valid: s.valid}, s.starts)
}

// lay allocates the tokens of a column in all blocks, fills the ends of rows without documents, and
// returns the sink that takes the items of documents.
func (u *packedUnit) lay(i int) (*tokenSink, error) {
	p, how := u.packer, &u.packer.packing.Columns[i]
	field := p.packing.schema.Fields[i]
	size, w := p.packing.Size, field.Children[0].Width
	pieces := u.rows.Pieces
	p.places = append(p.places[:0], make([][]byte, len(pieces))...)
	for b := range u.blocks {
		c := &u.blocks[b]
		data := c.arena.Alloc(len(c.rows.Order) * size * w)
		c.direct[i] = &block.Vector{Field: field, Len: len(c.rows.Order), Data: data, Stride: size, Children: []*block.Vector{{Field: field.Children[0]}}}
		for row, block := range c.rows.Order {
			to := data[row*size*w:][:size*w]
			lo, hi := c.rows.span(block)
			for k := lo; k < hi; k++ {
				n := int(pieces[k].Tokens) * w
				p.places[k] = to[:n:n]
				to = to[n:]
			}
			fillItems(to, how.Fill, w)
		}
	}
	return u.sink(how, w)
}

// sink returns the sink that takes the items of a column, row by row.
func (u *packedUnit) sink(how *PackedColumn, w int) (*tokenSink, error) {
	p, pieces, extra := u.packer, u.rows.Pieces, u.packer.packing.extra()
	first, next := p.chains(pieces, len(u.rows.Rows))
	s := &p.sink
	*s = tokenSink{parts: s.parts[:0], width: w}
	doc := 0
	for row, tokens := range u.lengths {
		n, at := int(items(tokens, extra)), 0
		if doc < len(u.rows.Rows) && int(u.rows.Rows[doc]) == row {
			for k := first[doc]; k >= 0; k = next[k] {
				if p.places[k] == nil {
					continue
				}
				lo, hi, to := how.frame(p.places[k], int(pieces[k].Begin), int(pieces[k].Begin+pieces[k].Tokens), n, w)
				if lo < at || hi > n {
					return nil, ErrNotDirect
				}
				s.add(nil, lo-at)
				s.add(to, hi-lo)
				at = hi
			}
			doc++
		}
		s.add(nil, n-at)
	}
	if doc != len(u.rows.Rows) { // a row comes more than once
		return nil, ErrNotDirect
	}
	return s, nil
}

// chains lists the pieces of each document in their order: the first, and behind each the next; -1
// is none.
func (p *BlockPacker) chains(pieces []rule.Piece, documents int) (first, next []int32) {
	p.first, p.next = growTo(p.first, documents), growTo(p.next, len(pieces))
	for i := range p.first {
		p.first[i] = -1
	}
	for k := len(pieces) - 1; k >= 0; k-- {
		doc := pieces[k].Doc
		p.next[k], p.first[doc] = p.first[doc], int32(k)
	}
	return p.first, p.next
}

func growTo(b []int32, n int) []int32 {
	if cap(b) < n {
		return make([]int32, n)
	}
	return b[:n]
}

// frame writes what is around the items of tokens [begin, end) of a document of n items, and
// returns which items they are and where those go.
func (p *PackedColumn) frame(to []byte, begin, end, n, w int) (lo, hi int, items []byte) {
	if p.Before != nil {
		if begin == 0 {
			to = to[copy(to, p.Before):]
			begin++
		}
		begin, end = begin-1, end-1
	}
	hi = max(begin, min(end, n))
	items = to[:(hi-begin)*w]
	if end > n {
		copy(to[len(items):], p.After)
	}
	return begin, hi, items
}
