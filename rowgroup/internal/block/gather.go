package block

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A Pick names one row of one block: the block's place in a table of blocks, and the row.
type Pick uint64

// MakePick returns the pick of a row of the block-th block of the table.
func MakePick(block, row int) Pick { return Pick(block)<<32 | Pick(uint32(row)) }

// Block is the place of the row's block in the table.
func (p Pick) Block() int { return int(p >> 32) }

// Row is the row of the block.
func (p Pick) Row() int { return int(uint32(p)) }

// A Gatherer copies picked rows into arrays. It holds the scratch of one goroutine; the zero value
// works.
//
// It goes column by column, which beats row by row by twice on columnar blocks. Variable-length
// columns take two passes: the first adds up lengths, so that the array gets memory of exactly its
// size, and asks the processor to fetch the bytes that the second will copy.
type Gatherer struct {
	vecs  levels[*Vector]
	picks levels[Pick]
	srcs  []source
	ptrs  []unsafe.Pointer
	lens  []uint32
	texts []textSource
	bits  []byte

	blocks []*Block // of the column that is gathered, and its name: for errors
	name   string

	sorted  sortedPicks
	records recordCopies
	stacked stacking
	cast    *Caster // of the items of lists; nil: they stay what they are
	raw     []byte  // values of a tile as they are stored
	hashes  [tileRows]uint64
	tmp     CastScratch
}

// levels is scratch for a recursion: one slice for each depth.
type levels[T any] struct {
	at    [][]T
	depth int
}

func (l *levels[T]) push(n int) []T {
	if l.depth == len(l.at) {
		l.at = append(l.at, nil)
	}
	s := slices.Grow(l.at[l.depth][:0], n)[:n]
	l.at[l.depth] = s
	l.depth++
	return s
}

func (l *levels[T]) pop() { l.depth-- }

// Gather returns the values of the column at position col, whose field is f, for each pick in
// order, in memory from alloc. The picks must be rows of the blocks, and the blocks must stay
// retained until Gather returns. f is the field in the schema, or [Timestamps] or [Tensors] of it.
func (g *Gatherer) Gather(col int, f *column.Field, blocks []*Block, picks []Pick, alloc column.Alloc) (*column.Array, error) {
	return g.column(col, f, blocks, picks, nil, alloc)
}

// GatherFixed does what Gather does for a column of fixed values, and writes them to data, which
// must have room for them. It allocates only the validity.
func (g *Gatherer) GatherFixed(col int, f *column.Field, blocks []*Block, picks []Pick, data []byte, alloc column.Alloc) (*column.Array, error) {
	if f.Kind != column.Fixed || len(data) < len(picks)*f.Width {
		return nil, fmt.Errorf("column %q: %d bytes are no place for %d values of %v; this is a bug", f.Name, len(data), len(picks), f)
	}
	return g.column(col, f, blocks, picks, data, alloc)
}

func (g *Gatherer) column(col int, f *column.Field, blocks []*Block, picks []Pick, data []byte, alloc column.Alloc) (*column.Array, error) {
	g.blocks, g.name = blocks, f.Name
	defer func() { g.blocks = nil }()
	vecs := g.vecs.push(len(blocks))
	defer g.vecs.pop()
	if vectorsOf(vecs, blocks, col) {
		values := g.picks.push(len(picks))
		defer g.picks.pop()
		picks = place(values, vecs, picks)
	}
	if data == nil {
		return g.node(f, vecs, picks, alloc)
	}
	a := &column.Array{Field: f, Len: len(picks), Data: data[:len(picks)*f.Width]}
	if err := g.valid(a, vecs, picks, alloc); err != nil {
		return nil, err
	}
	return a, g.fixed(a, vecs, picks)
}

// Gather gathers values of a vector outside of a block.
func Gather(g *Gatherer, v *Vector, picks []Pick, alloc column.Alloc) (*column.Array, error) {
	return g.node(v.Field, []*Vector{v}, picks, alloc)
}

// node gathers one node of the tree: picks are values of vecs.
func (g *Gatherer) node(f *column.Field, vecs []*Vector, picks []Pick, alloc column.Alloc) (*column.Array, error) {
	a := &column.Array{Field: f, Len: len(picks)}
	if f.Kind == column.Null {
		a.Nulls = a.Len
		return a, nil
	}
	if err := g.valid(a, vecs, picks, alloc); err != nil {
		return nil, err
	}
	switch f.Kind {
	case column.Fixed:
		data, err := alloc(a.Len * f.Width)
		if err != nil {
			return nil, err
		}
		a.Data = data
		return a, g.fixed(a, vecs, picks)
	case column.Binary:
		return a, g.binary(a, vecs, picks, alloc)
	case column.Struct:
		return a, g.members(a, vecs, picks, alloc)
	case column.List, column.Map:
		return a, g.list(a, vecs, picks, alloc)
	}
	return nil, fmt.Errorf("column %q: no such kind of column: %d", f.Name, f.Kind)
}

// list gathers the items of a List or Map.
func (g *Gatherer) list(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	if t := a.Field.Tensor; t != nil && t.Flat != nil {
		return g.tensors(a, vecs, picks, alloc)
	}
	switch item := a.Field.Children[0]; {
	case item.Kind != column.Fixed:
		return g.items(a, vecs, picks, alloc)
	case g.cast != nil:
		return g.castItems(a, g.cast, vecs, picks, alloc)
	case isInt96Items(item, vecs):
		return g.castItems(a, int96Caster(item.Unit), vecs, picks, alloc)
	}
	return g.fixedItems(a, vecs, picks, alloc)
}

// valid sets a.Valid and a.Nulls; Valid stays nil when no picked value is null.
func (g *Gatherer) valid(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	some := false
	for _, v := range vecs {
		some = some || v.Nulls > 0
	}
	if !some || len(picks) == 0 {
		return nil
	}
	octets := (len(picks) + 7) / 8
	g.bits = slices.Grow(g.bits[:0], octets)[:octets]
	nulls, ok := 0, false
	switch {
	case g.records.has(picks):
		nulls, ok = g.records.valid(g.bits, vecs)
	case g.sorted.has(picks):
		nulls, ok = g.sorted.valid(g.bits, vecs)
	}
	if !ok {
		nulls = validOf(g.bits, vecs, picks)
	}
	return g.keepBits(a, nulls, alloc)
}

// validOf sets the bits of values that are present, and returns how many are null.
func validOf(bits []byte, vecs []*Vector, picks []Pick) (nulls int) {
	octet := byte(0)
	for i, p := range picks {
		v, bit := vecs[p>>32], byte(1)
		if v.Nulls > 0 && v.IsNull(int(uint32(p))) {
			nulls++
			bit = 0
		}
		octet |= bit << (i & 7)
		if i&7 == 7 {
			bits[i>>3], octet = octet, 0
		}
	}
	if len(picks)&7 != 0 {
		bits[len(picks)>>3] = octet
	}
	return nulls
}

// keepBits copies the bits of g to the array's validity, unless nulls is 0.
func (g *Gatherer) keepBits(a *column.Array, nulls int, alloc column.Alloc) error {
	if nulls == 0 {
		return nil
	}
	b, err := alloc(len(g.bits))
	if err != nil {
		return err
	}
	copy(b, g.bits)
	a.Valid, a.Nulls = b, nulls
	return nil
}

// members gathers a Struct: each member at the same picks.
func (g *Gatherer) members(a *column.Array, vecs []*Vector, picks []Pick, alloc column.Alloc) error {
	kids := g.vecs.push(len(vecs))
	defer g.vecs.pop()
	a.Children = make([]*column.Array, len(a.Field.Children))
	for c, f := range a.Field.Children {
		for i, v := range vecs {
			kids[i] = v.Children[c]
		}
		k, err := g.node(f, kids, picks, alloc)
		if err != nil {
			return err
		}
		a.Children[c] = k
	}
	return nil
}
