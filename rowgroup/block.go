package rowgroup

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
)

// A Block is a unit's decoded columns: immutable, reference-counted, in pooled memory. It is born
// with one reference.
type Block struct {
	rows   int
	cols   []*vector
	parts  []part
	common *common // with the blocks of the unit's other parts; nil when there are none
	refs   atomic.Int32
}

// A part is the memory of some of a block's rows. Part 0 holds every column that is not spread over
// parts.
type part struct {
	arena *mem.Arena
	freed bool
}

// Rows is the number of rows.
func (b *Block) Rows() int { return b.rows }

// Bytes is the memory that the block holds now.
func (b *Block) Bytes() int64 {
	var n int64
	for i := range b.parts {
		if !b.parts[i].freed {
			n += b.parts[i].arena.Bytes()
		}
	}
	return n + b.common.bytesOf(b)
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
	for i := range b.parts {
		b.releasePart(i)
	}
	b.common.leave()
	b.cols = nil
}

// releasePart frees the memory of a part.
func (b *Block) releasePart(p int) {
	if p < len(b.parts) && !b.parts[p].freed {
		b.parts[p].freed = true
		b.parts[p].arena.Free()
	}
}

// A Layout says how a block is to lie in memory. The zero value is one part.
type Layout struct {
	// Part gives each row of the unit its part, 1..Parts, so that rows that leave the shuffle
	// buffer together can be freed together; also to rows that the block does not hold. nil: one
	// part for all.
	Part  []uint8
	Parts int
	wide  int // bytes a row from which a column is spread over the memory of parts as it is decoded; 0 means 512, which tests lower

	// Order is the rows of the unit that the block holds, in this order: row i of the block is row
	// Order[i] of the unit. It names each row once at most and may be reused after Decode. nil is
	// all rows in the file's order. Part still goes by rows of the unit.
	Order []uint32
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
}
