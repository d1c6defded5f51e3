package rowgroup

import (
	"errors"
	"math/bits"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

// A division is the parts of the unit that is decoded, when each of them becomes a block.
type division struct {
	ends   []int // rows of the block, in their order, of each part and those before
	blocks []*Block
}

var errDivision = errors.New("the layout's order does not go through its parts one after the other")

// DecodeParts is Decode into a block for each of the layout's parts, through which its order goes
// one after the other: the p-th block holds the rows of part p+1, all columns of them, and each is
// released on its own. Only what cannot be divided, dictionaries and columns whose rows cannot
// change places, is held until the last is released, and counted by the last of the slice.
func (d *Decoder) DecodeParts(r *Raw, l Layout) ([]*Block, error) {
	if l.Parts < 2 {
		b, err := d.Decode(r, l)
		if err != nil {
			return nil, err
		}
		return []*Block{b}, nil
	}
	if l.Order == nil {
		l.Order = d.fileOrder(int(r.Rows.Hi - r.Rows.Lo))
	}
	d.division = &division{}
	defer func() { d.division = nil }()
	whole, err := d.Decode(r, l)
	if err != nil {
		return nil, err
	}
	shared := &common{arena: whole.parts[0].arena}
	shared.users.Store(int32(l.Parts))
	for p, b := range d.division.blocks {
		b.parts, b.common = whole.parts[p+1:p+2], shared
		b.refs.Store(1)
		shared.bearer = b
	}
	return d.division.blocks, nil
}

// fileOrder is the rows of a unit in the order in which they lie.
func (d *Decoder) fileOrder(rows int) []uint32 {
	order := mem.AsU32(d.order.take(4 * rows))
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// cutOut copies the rows of the unit out of a column that was decoded with the whole of its pages,
// whose memory is then free for the next. Columns whose rows cannot change places keep theirs.
func (d *Decoder) cutOut(v *vector) (*vector, error) {
	if !movable(v) {
		d.keep.Adopt(d.loose)
		return d.layOut(v), nil
	}
	order := d.layout.Order
	if order == nil {
		order = d.fileOrder(int(d.rows.Hi - d.rows.Lo))
	}
	piece, err := newPiece(v, v.skip, order, d.keep)
	d.loose.Free()
	return piece, err
}

// begin finds the parts' rows and makes their blocks.
func (x *division) begin(d *Decoder) error {
	l := d.layout
	part := 1
	for i, row := range l.Order {
		p := int(l.Part[row])
		if p < part || p > l.Parts {
			return errDivision
		}
		for ; part < p; part++ {
			x.ends = append(x.ends, i)
		}
	}
	for ; part <= l.Parts; part++ {
		x.ends = append(x.ends, len(l.Order))
	}
	d.needParts()
	from := 0
	for _, to := range x.ends {
		x.blocks = append(x.blocks, &Block{rows: to - from, cols: make([]*vector, len(d.raw.columns))})
		from = to
	}
	return nil
}

// needParts makes the memory of the layout's parts.
func (d *Decoder) needParts() {
	for len(d.block.parts) <= d.layout.Parts {
		d.block.parts = append(d.block.parts, part{arena: d.pool.NewArena()})
	}
}

// divide lays the rows of a column in the parts. What the column was decoded to is then free for
// the next.
func (d *Decoder) divide(col int, v *vector) error {
	x, from := d.division, 0
	if !movable(v) {
		v.order = d.keptOrder()
		d.keep.Adopt(d.loose)
		for p, to := range x.ends {
			piece := *v
			piece.order, piece.n = v.order[from:to], to-from
			x.blocks[p].cols[col] = &piece
			from = to
		}
		return nil
	}
	for p, to := range x.ends {
		piece, err := newPiece(v, v.skip, d.layout.Order[from:to], d.block.parts[p+1].arena)
		if err != nil {
			return err
		}
		x.blocks[p].cols[col] = piece
		from = to
	}
	d.loose.Free()
	return nil
}

// newPiece copies the values skip+order[0], skip+order[1], .. of a vector that is movable;
// dictionaries, and wide values that lie in parts, stay where they are.
func newPiece(v *vector, skip int, order []uint32, arena *mem.Arena) (*vector, error) {
	p := &vector{field: v.field, n: len(order), stride: v.stride, children: v.children}
	p.takeValid(v, skip, order, arena)
	switch {
	case v.codes != nil:
		p.codes, p.codeWidth, p.dict = pieceOf(v.codes, v.codeWidth, skip, order, arena), v.codeWidth, v.dict
	case v.views != nil && v.chunkShift != 0:
		p.views, p.base, p.chunkShift = mem.AsU64(pieceOf(mem.AsBytes(v.views), 8, skip, order, arena)), v.base, v.chunkShift
	case v.views != nil:
		return p, p.takeText(v, skip, order, arena)
	case v.field.Kind == column.List && v.data != nil:
		p.data = pieceOf(v.data, v.stride*v.field.Children[0].Width, skip, order, arena)
	case v.data != nil:
		p.data = pieceOf(v.data, v.field.Width, skip, order, arena)
	case v.field.Kind == column.Struct:
		p.children = make([]*vector, len(v.children))
		for i, c := range v.children {
			var err error
			if p.children[i], err = newPiece(c, skip, order, arena); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// pieceOf copies values of w bytes.
func pieceOf(b []byte, w, skip int, order []uint32, arena *mem.Arena) []byte {
	out := arena.Alloc(len(order) * w)
	permuteValues(out, b, w, skip, order)
	return out
}

// takeValid copies the validity of values.
func (p *vector) takeValid(v *vector, skip int, order []uint32, arena *mem.Arena) {
	switch {
	case v.nulls == 0:
		return
	case v.valid == nil:
		p.nulls = len(order)
		return
	}
	p.valid = mem.AsU64(arena.Alloc(8 * parquet.BitmapWords(len(order))))
	permuteBits(p.valid, v.valid, skip, order)
	p.nulls = len(order)
	for i := 0; i < len(order); i += 64 {
		p.nulls -= bits.OnesCount64(p.valid[i>>6] & parquet.LowBits(min(64, len(order)-i)))
	}
	if p.nulls == 0 {
		p.valid = nil
	}
}

// takeText copies the bytes of values, one behind the other in their new order.
func (p *vector) takeText(v *vector, skip int, order []uint32, arena *mem.Arena) error {
	size := int64(0)
	for _, r := range order {
		size += int64(uint32(v.views[skip+int(r)]))
	}
	if err := textBudget(size); err != nil {
		return err
	}
	p.views = mem.AsU64(arena.Alloc(8 * len(order)))
	text, at := arena.Alloc(int(size)), 0
	for i, r := range order {
		view := v.views[skip+int(r)]
		n := copy(text[at:], v.base[0][view>>32:][:uint32(view)])
		p.views[i] = uint64(at)<<32 | uint64(n)
		at += n
	}
	p.base = [][]byte{text}
	return nil
}
