package rowgroup

import (
	"fmt"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rule"
)

// LengthsColumn is the column that a [Packing] adds behind all others: list<int32>, the tokens of
// each document in a packed row.
const LengthsColumn = "seq_lengths"

// itemName is the name of lists' items, as the format has it.
const itemName = "element"

// A Packing defines how rows of several documents are made of the rows of a unit's block: each
// document is a row of it, or a piece of one.
type Packing struct {
	Size    int            // tokens of a packed row; 0 where no column has tokens
	Columns []PackedColumn // by column of the schema

	schema *column.Schema
}

// A PackedColumn selects how a column is packed. The zero value makes a list with one value for
// each document.
type PackedColumn struct {
	Tokens bool   // a list of fixed-width items: they are one after another, Size to a row
	Fill   []byte // the item that fills the rest of a row; nil is zero

	// Before and After are items that are written before and after each document's; nil writes
	// none. All columns of tokens have as many.
	Before, After []byte

	// First makes it the first document's value, as it is, for keys of rows.
	First bool
}

// NewPacking returns a packing of the columns of a schema. Without a size it makes lists of whole
// rows alone, and adds no column.
func NewPacking(s *column.Schema, size int, columns []PackedColumn) *Packing {
	p := &Packing{Size: size, Columns: columns, schema: &column.Schema{}}
	for i, f := range s.Fields {
		switch c := columns[i]; {
		case c.First:
			p.schema.Fields = append(p.schema.Fields, f)
		case c.Tokens:
			item := *f.Children[0]
			item.Nullable = false
			p.schema.Fields = append(p.schema.Fields, &column.Field{Name: f.Name, Kind: column.List, ListSize: size, Children: []*column.Field{&item}})
		default:
			item := *f
			item.Name, item.Partition, item.Made = itemName, false, false
			p.schema.Fields = append(p.schema.Fields, &column.Field{Name: f.Name, Kind: column.List, Made: f.Made, Children: []*column.Field{&item}})
		}
	}
	if size == 0 {
		return p
	}
	p.schema.Fields = append(p.schema.Fields, &column.Field{
		Name: LengthsColumn, Kind: column.List, Made: true,
		Children: []*column.Field{{Name: itemName, Kind: column.Fixed, Type: column.TypeInt32, Width: 4}},
	})
	return p
}

// Schema of the packed blocks.
func (p *Packing) Schema() *column.Schema { return p.schema }

// extra returns the number of items written around each document.
func (p *Packing) extra() uint32 {
	for i := range p.Columns {
		if c := &p.Columns[i]; c.Tokens {
			n := uint32(0)
			if c.Before != nil {
				n++
			}
			if c.After != nil {
				n++
			}
			return n
		}
	}
	return 0
}

// Lengths appends the tokens of each row of a block to dst: the items of its lists, which have as
// many in all columns, and what is written around them. A row without items, or whose lists are
// null, has none. first is the number of the block's first row in its row group, for errors.
func (p *Packing) Lengths(b *Block, first int64, dst []uint32) ([]uint32, error) {
	extra, begin, one := p.extra(), len(dst), ""
	for i := range p.Columns {
		if !p.Columns[i].Tokens {
			continue
		}
		v := block.Columns(b)[i]
		if err := checkItemNulls(v, b.Rows(), first); err != nil {
			return dst, &Error{Op: "pack", Column: v.Field.Name, RowGroup: -1, Page: -1, Err: err}
		}
		w := uint32(v.Field.Children[0].Width)
		for row := range b.Rows() {
			_, bytes := v.ItemBytes(v.Place(row), int(w))
			n := bytes / w
			if n > 0 {
				n += extra
			}
			switch {
			case one == "":
				dst = append(dst, n)
			case dst[begin+row] != n:
				return dst, &Error{
					Op: "pack", Column: v.Field.Name, RowGroup: -1, Page: -1, Hint: option.Sprintf("leave column %q out", v.Field.Name),
					Err: fmt.Errorf("row %d of the row group has %d items, and %d in column %q; lists that are packed together must have equal lengths",
						first+int64(row), items(n, extra), items(dst[begin+row], extra), one),
				}
			}
		}
		if one == "" {
			one = v.Field.Name
		}
	}
	return dst, nil
}

func items(tokens, extra uint32) uint32 { return max(tokens, extra) - extra }

// checkItemNulls refuses lists with items that are null: a block has no place for that.
func checkItemNulls(v *block.Vector, rows int, first int64) error {
	if !v.HasItemNulls() {
		return nil
	}
	for row := range rows {
		lo, hi := v.ListRange(v.Place(row))
		for k := lo; k < hi; k++ {
			if v.Children[0].IsNull(int(k)) {
				return fmt.Errorf("row %d of the row group has a null at item %d; lists that are packed must have none", first+int64(row), k-lo)
			}
		}
	}
	return nil
}

// PackedRows are the rows that a packed block gets: row i has the pieces of block Order[i]; nil is
// all in their order. Block b has Pieces[Ends[b-1]:Ends[b]], which are of documents; Rows has the
// row of each.
type PackedRows struct {
	Rows   []uint32
	Pieces []rule.Piece
	Ends   []uint32
	Order  []uint32
}

func (r *PackedRows) of(block uint32) []rule.Piece {
	begin, end := r.span(block)
	return r.Pieces[begin:end]
}

// span is which pieces are a block's.
func (r *PackedRows) span(block uint32) (begin, end uint32) {
	if block > 0 {
		begin = r.Ends[block-1]
	}
	return begin, r.Ends[block]
}

// A BlockPacker makes packed blocks. It holds the scratch of one goroutine.
type BlockPacker struct {
	packing *Packing
	gather  Gatherer
	picks   []Pick

	// Of lists that are decoded straight into blocks.
	places      [][]byte // of each piece; nil where no block has it
	first, next []int32
	sink        tokenSink
}

// NewPacker returns a packer of blocks for one goroutine.
func NewPacker(p *Packing) *BlockPacker { return &BlockPacker{packing: p} }

// Pack makes a packed block of the rows of another, in memory that the decoder is allowed. Both
// blocks are the caller's.
func (d *Decoder) Pack(p *BlockPacker, b *Block, rows PackedRows) (packed *Block, err error) {
	c := packedBlock{BlockPacker: p, from: b, rows: rows, arena: d.newArena()}
	defer func() {
		if packed == nil {
			c.arena.Free()
		} else {
			c.arena.Leave()
		}
	}()
	defer caught(&err)
	return c.finish()
}

// finish makes all columns that are not there yet.
func (c *packedBlock) finish() (*Block, error) {
	c.measure()
	b := c.from
	var cols []*block.Vector
	for i := range c.packing.Columns {
		v, err := c.column(i)
		if err != nil {
			return nil, &Error{Op: "pack", Column: block.Columns(b)[i].Field.Name, RowGroup: -1, Page: -1, Err: err}
		}
		cols = append(cols, v)
	}
	if c.packing.Size > 0 {
		cols = append(cols, c.lengths())
	}
	uri, rowGroup := b.Place()
	out := block.New(block.Origin{URI: uri, RowGroup: rowGroup}, len(c.rows.Order), cols, c.arena)
	if c.packing.Size == 0 {
		block.SetLists(out, c.ends)
	}
	return out, nil
}

// A packedBlock is a block that is made.
type packedBlock struct {
	*BlockPacker
	from  *Block
	rows  PackedRows
	arena *mem.Arena
	ends  []uint32 // by row: its pieces and all earlier rows' pieces

	direct []*block.Vector // by column: tokens that were decoded to their places; nil elsewhere
}

// measure finds where the pieces of each row start among all of them, and the row of each.
func (c *packedBlock) measure() {
	c.ends = mem.As[uint32](c.arena.Alloc(4 * (len(c.rows.Order) + 1)))
	c.ends[0] = 0
	c.picks = c.picks[:0]
	for i, block := range c.rows.Order {
		for _, piece := range c.rows.of(block) {
			c.picks = append(c.picks, MakePick(0, int(c.rows.Rows[piece.Doc])))
		}
		c.ends[i+1] = uint32(len(c.picks))
	}
}

func (c *packedBlock) column(i int) (*block.Vector, error) {
	how, field := &c.packing.Columns[i], c.packing.schema.Fields[i]
	switch {
	case c.direct != nil && c.direct[i] != nil:
		return c.direct[i], nil
	case how.Tokens:
		return c.tokens(i, how, field), nil
	case how.First:
		return c.first(i, field)
	}
	values, err := c.gather.Gather(i, block.Columns(c.from)[i].Field, []*Block{c.from}, c.picks, c.alloc)
	if err != nil {
		return nil, err
	}
	return &block.Vector{Field: field, Len: len(c.rows.Order), Offsets: c.ends, Children: []*block.Vector{c.vectorOf(values)}}, nil
}

func (c *packedBlock) alloc(n int) ([]byte, error) { return c.arena.Alloc(n), nil }

// first is the value of each row's first document. To an integer of 8 bytes it adds where the piece
// starts in the document, so that pieces of one document differ.
func (c *packedBlock) first(i int, field *column.Field) (*block.Vector, error) {
	picks := make([]Pick, len(c.rows.Order))
	for row := range picks {
		picks[row] = c.picks[c.ends[row]]
	}
	values, err := c.gather.Gather(i, field, []*Block{c.from}, picks, c.alloc)
	if err != nil {
		return nil, err
	}
	if field.Width == 8 {
		for row, v := range mem.As[uint64](values.Data) {
			mem.As[uint64](values.Data)[row] = v + uint64(c.rows.of(c.rows.Order[row])[0].Begin)<<beginShift
		}
	}
	return c.vectorOf(values), nil
}

// beginShift leaves room for the numbers of a manifest's rows.
const beginShift = 40

// tokens lays the items of a list out.
func (c *packedBlock) tokens(i int, how *PackedColumn, field *column.Field) *block.Vector {
	v, size := block.Columns(c.from)[i], c.packing.Size
	w := field.Children[0].Width
	data := c.arena.Alloc(len(c.rows.Order) * size * w)
	for row, block := range c.rows.Order {
		to := data[row*size*w:][:size*w]
		for _, piece := range c.rows.of(block) {
			ptr, bytes := v.ItemBytes(v.Place(int(c.rows.Rows[piece.Doc])), w)
			to = how.write(to, unsafe.Slice((*byte)(ptr), bytes), piece, w)
		}
		fillItems(to, how.Fill, w)
	}
	return &block.Vector{Field: field, Len: len(c.rows.Order), Data: data, Stride: size, Children: []*block.Vector{{Field: field.Children[0]}}}
}

// write writes a piece of a document to the front of a row, and returns what is left of that.
func (p *PackedColumn) write(to, items []byte, piece rule.Piece, w int) []byte {
	begin, end := int(piece.Begin), int(piece.Begin+piece.Tokens)
	if p.Before != nil {
		if begin == 0 {
			to = to[copy(to, p.Before):]
			begin++
		}
		begin, end = begin-1, end-1
	}
	n := len(items) / w
	if begin < n {
		to = to[copy(to, items[begin*w:min(end, n)*w]):]
	}
	if end > n {
		to = to[copy(to, p.After):]
	}
	return to
}

// fillItems writes an item over and over; nil is zero.
func fillItems(to, item []byte, w int) {
	if item == nil || len(to) == 0 {
		clear(to)
		return
	}
	for n := copy(to, item[:w]); n < len(to); n *= 2 {
		copy(to[n:], to[:n])
	}
}

// lengths is the tokens of each piece.
func (c *packedBlock) lengths() *block.Vector {
	field := c.packing.schema.Fields[len(c.packing.Columns)]
	data := c.arena.Alloc(4 * len(c.picks))
	out, at := mem.As[int32](data), 0
	for _, block := range c.rows.Order {
		for _, piece := range c.rows.of(block) {
			out[at] = int32(piece.Tokens)
			at++
		}
	}
	return &block.Vector{Field: field, Len: len(c.rows.Order), Offsets: c.ends, Children: []*block.Vector{{Field: field.Children[0], Len: len(c.picks), Data: data}}}
}

// vectorOf is a vector of the values of an array, whose memory it shares.
func (c *packedBlock) vectorOf(a *column.Array) *block.Vector {
	v := &block.Vector{Field: a.Field, Len: a.Len, Nulls: a.Nulls}
	if a.Valid != nil {
		v.Valid = mem.As[uint64](a.Valid[: 8*parquet.BitmapWords(a.Len) : 8*parquet.BitmapWords(a.Len)]) // an arena gives more than it is asked for
	}
	switch a.Field.Kind {
	case column.Fixed:
		v.Data = a.Data
	case column.Binary:
		v.Base, v.Views = [][]byte{a.Data}, mem.As[uint64](c.arena.Alloc(8*a.Len))
		for i := range v.Views {
			lo, hi := a.Offsets[i], a.Offsets[i+1]
			v.Views[i] = uint64(lo)<<32 | uint64(hi-lo)
		}
	case column.List, column.Map:
		v.Children = []*block.Vector{c.vectorOf(a.Children[0])}
		if a.Offsets != nil {
			v.Offsets = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(a.Offsets))), a.Len+1)
		} else {
			v.Offsets = c.even(a)
		}
	case column.Struct:
		for _, child := range a.Children {
			v.Children = append(v.Children, c.vectorOf(child))
		}
	}
	return v
}

// even is the offsets of lists of one size.
func (c *packedBlock) even(a *column.Array) []uint32 {
	all := mem.As[uint32](c.arena.Alloc(4 * (a.Len + 1)))
	for i := range all {
		all[i] = uint32(i * a.Field.ListSize)
	}
	return all
}
