package block

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// A Block is decoded columns of a unit or of one part of it. It is immutable, reference-counted, in
// pooled memory, and born with one reference.
type Block struct {
	rows   int
	cols   []*Vector
	arena  *mem.Arena
	lease  shard.Lease // of the image that columns are in, or nil
	mapped int64       // bytes of it

	remaking *remaking // nil: the block cannot be made once more

	records []byte // that columns are in, one for each row
	record  int    // bytes of one; 0 without records
	slots   int    // columns of one

	common *common // with the blocks of the unit's other parts, or nil
	refs   atomic.Int32

	stacks []stackedRows // of Layout.Stacks

	from Origin

	// Of a block whose rows are lists of rows, see [Packing]: the inner rows, and the end of each
	// list among them.
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

// An Origin names the unit that a block was decoded from, for errors about values.
type Origin struct {
	URI      string
	RowGroup int
	First    int64 // row of the row group at which the unit starts
	InOrder  bool  // rows are in the unit's order, which is the file's
}

// New returns a block of columns in memory of an arena.
func New(from Origin, rows int, cols []*Vector, arena *mem.Arena) *Block {
	b := &Block{from: from, rows: rows, cols: cols, arena: arena}
	b.refs.Store(1)
	return b
}

// NewParts returns a block for each count of rows, whose columns are yet to be set. A single block
// has the memory keep. Several have arenas of their own, and share keep until the last of them is
// released.
func NewParts(from Origin, counts []int, columns int, keep *mem.Arena, newArena func() *mem.Arena) (blocks []*Block) {
	var shared *common
	if len(counts) > 1 {
		shared = &common{arena: keep}
		shared.users.Store(int32(len(counts)))
	}
	for _, n := range counts {
		b := New(from, n, make([]*Vector, columns), keep)
		if shared != nil {
			b.arena, b.common, shared.bearer = newArena(), shared, b
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// Columns returns the columns of a block by their positions in the schema, for the decoder to set.
// A column that is only in matrices is nil.
func Columns(b *Block) []*Vector { return b.cols }

// Rows returns the number of rows of each block.
func Rows(blocks []*Block) (all []int) {
	for _, b := range blocks {
		all = append(all, b.rows)
	}
	return all
}

// Lend gives blocks a column of others, which keep its memory.
func Lend(from, to []*Block, col int) {
	for i, b := range from {
		to[i].cols[col] = b.cols[col]
	}
}

// Borrow reports whether blocks have a column of others, by Lend.
func Borrow(blocks, from []*Block) bool {
	for i, b := range from {
		for col, v := range b.cols {
			if v != nil && blocks[i].cols[col] == v {
				return true
			}
		}
	}
	return false
}

// Memory returns the arena for values of a block's own rows.
func Memory(b *Block) *mem.Arena { return b.arena }

// SetLists makes the rows in the lists of the block's columns its [Block.Listed]: list i has those
// up to ends[i+1].
func SetLists(b *Block, ends []uint32) {
	cols := make([]*Vector, len(b.cols))
	for i, v := range b.cols {
		cols[i] = v.Children[0]
	}
	b.inner, b.ends = &Block{from: b.from, rows: int(ends[len(ends)-1]), cols: cols, arena: b.arena}, ends
}

// LieIn gives the block columns that are in bytes of a lease, which the block releases. records are
// the bytes that have a slot of each of the columns for each row, record bytes a row.
func LieIn(b *Block, lease shard.Lease, bytes int64, records []byte, record int, columns []*Vector) {
	b.lease, b.mapped, b.records, b.record = lease, bytes, records, record
	for _, v := range columns {
		if v != nil && v.Slots != nil {
			b.slots++
		}
	}
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

// Leave ends the metering of the block's memory by its decoder.
func Leave(b *Block) {
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

// Place is the shard and the row group that the block was made of.
func (b *Block) Place() (uri string, rowGroup int) { return b.from.URI, b.from.RowGroup }
