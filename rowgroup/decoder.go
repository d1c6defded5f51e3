package rowgroup

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// A Decoder turns the bytes of units into blocks. It holds the scratch of one goroutine: pages are
// decompressed in buffers that it keeps.
type Decoder struct {
	// Materialize stores the values of Fixed columns even where codes into a dictionary would do.
	Materialize bool
	thresholds

	pool    *mem.Pool
	meter   mem.Meter // of all memory that the decoder takes
	replace bool      // what is not UTF-8; see Options.ReplaceUTF8
	drop    []int     // columns that List frees
	codecs  parquet.Codecs

	unit
	target
	arenas
	aside target // of texts, until List has made their lists

	col   leafDecoder
	scan  pageScan
	lists listShape
	nest  nestedShape

	workspace

	held   *heldRules     // nil before the first rule column
	stacks *block.Stacker // nil before the first matrix
	packed *packedUnit    // of the unit whose tokens go straight to packed blocks
	sink   *tokenSink     // of the column; nil: it is decoded to slots
}

// thresholds are overrides for tests.
type thresholds struct {
	skipChecksums bool // tests of damaged pages look behind their checksums
	stepsFrom     int  // bytes of a page that is decompressed in steps; 0 means 4 MiB
	windowFrom    int  // values of a page of which only the unit's are decoded; 0 means 1 Mi
}

// A unit is the rows that are decoded, and the blocks that get them.
type unit struct {
	raw    *Raw
	rows   Rows
	chunks []rawChunk // those not decoded yet
	at     int64      // byte of the shard of the current page, or -1
	path   string     // of the current column
	layout Layout
	width  int // columns of the blocks

	tierCols []*block.Vector // of its image, by column; nil without one
	inImage  bool            // and blocks use them in place
}

// A target is the blocks that columns are decoded into.
type target struct {
	blocks []*Block
	keep   *mem.Arena // memory that stays as long as any of the blocks
	kept   []uint32   // Layout.Order in keep
}

// arenas are the memory that a column is decoded to.
type arenas struct {
	arena *mem.Arena // of values: keep, or loose when their rows are copied out
	loose *mem.Arena
	dicts *mem.Arena // of the column, where few rows are kept, which may need none
	dict  *mem.Arena // what dictionaries are decoded to: keep or dicts
}

// NewDecoder returns a decoder of the manifest's units for one goroutine, which closes it. Blocks
// are memory of Options.Pool.
func (m *Reader) NewDecoder() *Decoder {
	d := newDecoder(m.pool, m.replace)
	d.drop = m.dropped()
	return d
}

func newDecoder(pool *mem.Pool, replace bool) *Decoder {
	d := &Decoder{pool: pool, replace: replace}
	d.spare, d.loose, d.dicts = d.newArena(), d.newArena(), d.newArena()
	for _, s := range d.scratches() {
		s.arena = d.newArena()
	}
	return d
}

func (d *Decoder) newArena() *mem.Arena { return d.meter.NewArena(d.pool) }

// Allow limits the memory that the decoder takes until the next call, for blocks and beside the
// scratch that it keeps, to bytes. The decoder calls more before it takes further bytes; if more
// refuses, decoding fails with an [ErrTooLarge] that wraps the refusal.
func (d *Decoder) Allow(bytes int64, more func(n int64) error) {
	d.meter.Allow(mem.Add(bytes, keptScratch), more)
}

// Close gives the scratch back.
func (d *Decoder) Close() {
	d.dropHeld()
	d.dropAside()
	d.codecs.Close()
	d.workspace.free()
}

// Decode decodes a unit into a block for each of the layout's parts. Each holds all columns of its
// rows and is released on its own. Only what cannot be divided, dictionaries and columns whose rows
// cannot change places, is held until the last is released, and counted by the last of the slice.
// The Raw may be released afterwards: a Block never points into one. Columns of Made.Drop are valid
// until List has made their lists, or the next Decode.
func (d *Decoder) Decode(r *Raw, l Layout) ([]*Block, error) {
	d.dropAside()
	d.at, d.path = -1, ""
	if d.held == nil || d.held.raw != r {
		d.dropHeld()
		r.used, r.stale, r.verified = shard.Span{}, 0, r.verified[:0] // all is used now, maybe again
	}
	err := r.use(func() error { return d.decode(r, l) })
	d.dropHeld()
	if damaged := r.recheck(); damaged != nil {
		err = damaged
	} else if t := r.tier; err == nil && t != nil && !t.shard.Whole(t.group, t.image) {
		err = t.failed(shard.ErrChanged)
	}
	blocks := d.blocks
	d.forget()
	d.trim()
	if err == nil {
		for _, b := range blocks {
			block.Leave(b)
		}
		return blocks, nil
	}
	for _, b := range blocks {
		b.Release()
	}
	return nil, d.failed(r, err)
}

// List makes lists in blocks that the decoder has just decoded, in memory that it is allowed. It
// frees the columns of Made.Drop when all their lists are made.
func (d *Decoder) List(l Listing, blocks []*Block) (err error) {
	defer caught(&err)
	if err = block.List(l, blocks, d.newArena); err != nil || !block.Borrow(blocks, d.aside.blocks) {
		d.dropAside()
	}
	return err
}

// dropAside frees the columns that lists were made of.
func (d *Decoder) dropAside() {
	for _, b := range d.aside.blocks {
		b.Release()
	}
	d.aside = target{}
}

// decodeAside decodes a column into memory of its own, that no block keeps.
func (d *Decoder) decodeAside(i int, n *schema.Node, inPlace bool) error {
	of := d.blocks
	if d.aside.blocks == nil {
		d.aside = d.newTarget(block.Rows(of))
	}
	d.target, d.aside = d.aside, d.target
	defer func() { d.target, d.aside = d.aside, d.target }()
	err := d.decodeColumn(i, n, inPlace)
	block.Lend(d.blocks, of, i)
	return err
}

// failed is an error of the current page.
func (d *Decoder) failed(r *Raw, err error) error {
	e := &Error{Op: "decode", URI: r.uri, RowGroup: r.Rows.RowGroup, Column: d.path, Page: d.at, Err: err}
	if h := (*sizeError)(nil); errors.As(err, &h) {
		e.Hint = h.hint
		if r.Rows.Hi-r.Rows.Lo == 1 {
			e.Err = fmt.Errorf("row %d alone is too large, and no less than a row can be decoded: at least %w", r.Rows.Lo, err)
		}
	}
	if c := (*block.CastError)(nil); errors.As(err, &c) {
		e.Hint = c.Hint()
	}
	return e
}

// forget drops what points into the Raw and the blocks.
func (d *Decoder) forget() {
	d.target, d.dict, d.raw, d.chunks, d.col = target{}, nil, nil, nil, leafDecoder{}
	d.lists, d.nest, d.tierCols = listShape{}, nestedShape{}, nil
	d.loose.Free()
	d.dicts.Free()
	d.scan = pageScan{}
}

// checkRows refuses units of more rows than a block can count.
func (d *Decoder) checkRows() error {
	if n := d.rows.Hi - d.rows.Lo; n > math.MaxInt32 {
		return &sizeError{err: fmt.Errorf("%d rows in one unit", n), hint: "write smaller row groups"}
	}
	return nil
}

// decode fills d.blocks.
func (d *Decoder) decode(r *Raw, l Layout) (err error) {
	defer caught(&err)
	d.raw, d.rows, d.chunks, d.layout, d.width = r, r.Rows, r.chunks, l, r.width()
	if err := d.checkRows(); err != nil {
		return err
	}
	if err := d.divide(); err != nil {
		return err
	}
	if err := d.beginTier(); err != nil {
		return err
	}
	if l.Stacks != nil {
		l.Stacks.Begin(d.blocks)
	}
	inPlace := len(d.blocks) == 1 && l.Order == nil && !r.reachesOut()
	listed := r.tier != nil && r.tier.made // lists may have the places of dropped columns
	for i, n := range r.columns {
		d.at, d.path = -1, n.Field.Name
		decode := d.decodeColumn
		if !listed && slices.Contains(d.drop, i) {
			decode = d.decodeAside
		}
		if err := decode(i, n, inPlace); err != nil {
			return err
		}
		if used := r.chunks[:len(r.chunks)-len(d.chunks)]; len(used) > 0 {
			last := used[len(used)-1]
			r.forget(last.pagesOff + last.pagesLen)
		}
	}
	for i := len(r.columns); i < d.width; i++ {
		d.chooseArenas(inPlace, false)
		if err := d.decodeTier(i, inPlace, false); err != nil {
			return err
		}
	}
	block.EndStacks(d.blocks, d.page.take)
	return nil
}

// A route is the way of a column's values to the blocks.
type route int

const (
	fromPages route = iota // they are decoded
	fromTier               // the unit's image has them
	fromRules              // DecodeRule decoded them
	toPacked               // they are decoded straight to packed blocks
)

// routeOf chooses the route of a column.
func (d *Decoder) routeOf(i int) route {
	switch {
	case d.packed.has(i):
		return toPacked
	case d.tierCols != nil && d.tierCols[i] != nil:
		return fromTier
	case d.held.has(d.raw, i):
		return fromRules
	}
	return fromPages
}

// decodeColumn decodes a column into the blocks, or into their matrices. inPlace is true if columns
// stay as they are decoded.
func (d *Decoder) decodeColumn(i int, n *schema.Node, inPlace bool) (err error) {
	dropped := d.layout.Stacks.Drops(i)
	d.chooseArenas(inPlace && !dropped, dropped)
	var v *block.Vector
	switch d.routeOf(i) {
	case toPacked:
		return d.packed.decode(d, i, n)
	case fromTier:
		d.chunks = d.chunks[len(schema.LeavesOf([]*schema.Node{n})):]
		return d.decodeTier(i, inPlace, dropped)
	case fromRules:
		v = d.takeHeld(i, n)
	case fromPages:
		if v, err = d.column(n); err != nil {
			return err
		}
	}
	if err := d.stack(i, v); err != nil {
		return err
	}
	switch {
	case dropped:
		d.loose.Free()
		d.dicts.Free()
		return nil
	case inPlace:
		block.Columns(d.blocks[0])[i] = v
		return nil
	}
	return d.layOut(i, v)
}

// stack puts a column into the matrices that it is a member of.
func (d *Decoder) stack(col int, v *block.Vector) error {
	if d.layout.Stacks == nil {
		return nil
	}
	order := d.layout.Order
	if order == nil {
		order = d.fileOrder()
	}
	if d.stacks == nil {
		d.stacks = &block.Stacker{}
	}
	return d.stacks.Put(d.layout.Stacks, col, v, d.blocks, order)
}

// chooseArenas selects the memory that a column is decoded to: the block's if the column stays as
// it is. Its dictionary is in the block's memory too, unless the column is dropped or few rows are
// kept.
func (d *Decoder) chooseArenas(stays, dropped bool) {
	d.arena, d.dict = d.loose, d.keep
	if stays {
		d.arena = d.keep
	}
	if dropped || d.few() {
		d.dict = d.dicts
	}
}

func (d *Decoder) column(n *schema.Node) (*block.Vector, error) {
	rows := int(d.rows.Hi - d.rows.Lo)
	switch {
	case n.Partition != nil:
		return d.constant(n, rows), nil
	case n.Numbers != nil:
		return d.numbers(n, rows)
	case n.Missing:
		return block.NewNull(n.Field, rows), nil
	case n.Leaf != nil && (n.Leaf.Convert == schema.ConvertNull || n.Field.Kind == column.Null):
		if _, err := d.nextChunk(n); err != nil {
			return nil, err
		}
		return block.NewNull(n.Field, rows), nil
	case n.Leaf != nil:
		return d.flat(n)
	case n.IsListOfLeaves():
		return d.list(n)
	}
	return d.nested(n)
}

func (d *Decoder) nextChunk(n *schema.Node) (*rawChunk, error) {
	d.path = n.Leaf.Path
	if len(d.chunks) == 0 {
		return nil, fmt.Errorf("%w: it was not fetched", errChunk)
	}
	c := &d.chunks[0]
	d.chunks = d.chunks[1:]
	if c.leaf != n.Leaf {
		return nil, fmt.Errorf("%w: %q was fetched in its place", errChunk, c.leaf.Path)
	}
	return c, parquet.CheckCodec(c.codec)
}
