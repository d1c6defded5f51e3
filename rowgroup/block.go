package rowgroup

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// A Block is decoded columns: all rows of a unit, or those of one part of it. It is immutable,
// reference-counted, in pooled memory, and born with one reference.
type Block struct {
	rows   int
	cols   []*vector
	arena  *mem.Arena
	lease  shard.Lease // of the image that columns lie in, or nil
	mapped int64       // bytes of it

	remaking *remaking // nil: the block cannot be made once more

	records []byte // that columns lie in, one for each row
	record  int    // bytes of one; 0 without records
	slots   int    // columns of one

	common *common // with the blocks of the unit's other parts; nil when there are none
	refs   atomic.Int32

	stacks []stackedRows // of Layout.Stacks

	uri      string // of the shard, for errors about values
	rowGroup int
	first    int64 // row of the row group at which the unit begins
	inOrder  bool  // rows are those of the unit, as the file has them

	// Of a block whose rows are lists of rows, see [Packing]: the rows, and where those of each list
	// end.
	inner *Block
	ends  []uint32
}

// Listed is the rows in the lists of a block that a [Packing] without a size made. It is valid as
// long as the block, which alone is retained and released.
func (b *Block) Listed() *Block { return b.inner }

// List is which rows of Listed are in row i.
func (b *Block) List(i int) (lo, hi int) { return int(b.ends[i]), int(b.ends[i+1]) }

// A common is memory that the blocks of a unit's parts share: dictionaries, and columns whose rows
// cannot change places. It goes with the last of them. One of them counts it.
type common struct {
	arena  *mem.Arena
	bearer *Block
	users  atomic.Int32
}

// Rows is the number of rows.
func (b *Block) Rows() int { return b.rows }

// Bytes is the memory that the block holds now.
func (b *Block) Bytes() int64 {
	n := b.arena.Bytes() + b.mapped
	if c := b.common; c != nil && c.bearer == b && c.users.Load() > 0 {
		n += c.arena.Bytes()
	}
	return n
}

// keeps is the memory of dictionaries.
func (b *Block) keeps() *mem.Arena {
	if b.common != nil {
		return b.common.arena
	}
	return b.arena
}

// leave ends the metering of the block's memory by its decoder.
func (b *Block) leave() {
	b.arena.Leave()
	if b.common != nil {
		b.common.arena.Leave()
	}
}

// Retain adds a reference.
func (b *Block) Retain() {
	if b.refs.Add(1) <= 1 {
		panic("rowgroup: block retained after its last release")
	}
}

// Release drops a reference; the last one gives the memory back.
func (b *Block) Release() {
	n := b.refs.Add(-1)
	if n > 0 {
		return
	}
	if n < 0 {
		panic("rowgroup: block released twice")
	}
	b.arena.Free()
	if b.lease != nil {
		b.lease.Release()
		b.lease, b.mapped, b.records, b.record = nil, 0, nil, 0
		b.remaking.release()
	}
	if b.common != nil && b.common.users.Add(-1) == 0 {
		b.common.arena.Free()
	}
	b.cols, b.stacks = nil, nil
}

// A Layout says how rows are to lie in blocks. The zero value is one block, in the file's order.
type Layout struct {
	// Parts is the number of blocks, through which the order goes one after the other; 0 means 1.
	// Part gives each row of the unit its part, 1..Parts; that of rows that no block holds does not
	// matter. It is not needed for one.
	Part  []uint8
	Parts int
	wide  int // bytes a row from which a column is spread over the memory of parts as it is decoded; 0 means 512, which tests lower

	// Order is the rows of the unit that the blocks hold, in this order: row i of all blocks is row
	// Order[i] of the unit. It may be reused after Decode. nil is all rows in the file's order; an
	// empty one gives empty blocks.
	//
	// Where it has fewer than half of the unit's rows, the blocks hold memory for those rows alone.
	Order []uint32

	// Stacks are matrices to make of columns; nil makes none. Columns that are in these alone are
	// not in the blocks.
	Stacks *Stacks

	// InImage lets the one block without an order have columns where the tier lent them. Gathering
	// from it touches a mapping then, inside shard.Guard.
	InImage bool
}

// A vector is one node of a block: n values in one of a few physical forms.
//
// What the gather relies on: under a null, plain Fixed bytes are zero, a view has length 0 and a
// list has no items. A vector whose values are all null may have no storage at all (and then no
// valid either); its children are all-null vectors. A list of Fixed items that may be null has
// offsets (or a stride) and its items plain in children[0].
type vector struct {
	field *column.Field
	n     int
	nulls int
	valid []uint64 // bit i of word i/64 is 1 when value i is present; nil when nulls is 0

	// skip is set on top-level vectors only: leading values that lie before the unit's first row,
	// decoded because their page was.
	skip int

	// order is set on top-level vectors only, whose values could not be laid in Layout.Order: row i
	// of the block is value skip+order[i].
	order []uint32

	// Fixed: data holds n*width bytes; or codes index dict.
	data []byte

	// codes are positions in dict, one per value, codeWidth (1, 2 or 4) bytes each, zero under a
	// null; nil when values are stored plain.
	codes     []byte
	codeWidth int
	dict      *vector // Fixed or Binary without nulls

	// views, of a Binary vector and of a List that is flat (its items are Fixed and none is null):
	// where value i begins and how many bytes it has, begin<<32|bytes. Bytes are found by base:
	// base[0] when chunkShift is 0, else base[begin>>chunkShift] at the low bits.
	views      []uint64
	base       [][]byte
	chunkShift uint

	// List and Map that are not flat: items of value i are child values offsets[i]..offsets[i+1];
	// or stride items each when offsets is nil. A flat List of one length has data and stride and
	// neither views nor offsets: value i is data[i*stride*itemWidth:].
	offsets []uint32
	stride  int

	children []*vector

	// A vector of an image may lie in records, beside other columns: the value, code or view of value
	// i is at slots[i*step], and it is present when marks[i*step] has the bit mark. data, codes, views
	// and valid are nil then, and marks where no value is null.
	slots  []byte
	slot   int // where they are in a record
	step   int
	marks  []byte
	markAt int // in a record
	mark   byte
}
