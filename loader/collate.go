package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A recipe describes how batches are made of draws; all collators of an iteration share it.
type recipe struct {
	schema     *column.Schema // of the batches, before padders and transforms
	shape      *Shape
	padders    []*padder
	padded     []bool // by column: gathered into scratch, because a padder copies it or the batch is without it
	bands      []*band
	fixed      int // columns of fixed values
	fillers    []*filler
	naming     *rowNaming // nil: rows need no names
	packed     *deriver   // nil: batches are not packed
	buckets    bool       // a sample of the draws is a batch, whose rows have the columns of the schema
	images     []*imageColumn
	geometry   []string // image columns whose sizes and boxes are columns too
	split      *ImageSplit
	onDevice   atomic.Int64 // JPEGs that were left to a device
	decoded    atomic.Int64 // images
	decoder    func() (codec.Decoder, error)
	onError    iterable.OnError                           // "": rows cannot be left out
	placeOf    func(row int64) (iterable.RowPlace, error) // for errors
	keys       *iterable.RowKeys
	transforms []Transform
	rank       int
	times      [stages]atomic.Int64 // nanoseconds by stage
	largest    atomic.Int64         // bytes of the largest batch so far
}

func newRecipe(data *column.Schema, o Options) (*recipe, error) {
	shape, err := o.Shape(data)
	if err != nil {
		return nil, err
	}
	schema := shape.schema
	o.Fill = shape.fills
	padders, padding := bindPads(o.Pad, schema)
	fillers, filling := bindFills(o, schema)
	naming, unnamed := bindRowIDs(o, schema)
	packed, unpacked := bindPacked(o.Packed, schema)
	if err := errors.Join(padding, filling, unnamed, unpacked); err != nil {
		return nil, err
	}
	r := &recipe{
		schema: schema, shape: shape, fillers: fillers, padders: padders, padded: make([]bool, len(schema.Fields)), transforms: o.Transforms,
		rank: o.Rank, naming: naming, packed: packed, decoder: o.ImageDecoder, split: o.ImageSplit,
	}
	if r.decoder == nil {
		r.decoder = goDecoder
	}
	for _, p := range padders {
		r.padded[p.at] = true
	}
	if naming != nil && naming.hide {
		r.padded[naming.row], r.padded[naming.source] = true, true
	}
	for i, c := range shape.columns {
		r.images = append(r.images, c.images...)
		if c.matrix != nil { // which has the values of null slots
			r.fillers[i] = nil
		}
	}
	orderImages(r.images)
	r.geometry = geometryOf(o.Images)
	r.bands = bands(schema, r.padded)
	r.fixed = shape.fixed()
	return r, nil
}

// A collator makes batches. It holds the scratch of one goroutine.
type collator struct {
	*recipe
	gatherer rowgroup.Gatherer
	scratch  *mem.Arena
	pcg      rand.PCG
	random   *rand.Rand
	names    rowNames                          // of the batch that is made
	imaging  *imaging                          // of the pass; nil without images
	job      imageJob                          // of the batch that is made
	stay     [][]bool                          // by column of boxes, which ones are not dropped
	sample   iterable.Draw                     // the rows of a draw's sample, under buckets
	numbered func() (seed uint64, epoch int64) // of rows by number; nil: the draw says it
}

func (r *recipe) newCollator(pool *mem.Pool) *collator {
	c := &collator{recipe: r, scratch: pool.NewArena(), names: rowNames{keys: r.keys}}
	c.random = rand.New(&c.pcg)
	return c
}

// do makes a batch of a draw in the batch's memory m, and releases the draw as soon as its rows are
// copied. After an error it has released everything; a panic in a transform is an error too.
func (c *collator) do(ctx context.Context, d *iterable.Draw, m Memory, at *activity) (b *Batch, err error) {
	b = c.newBatch(d, m)
	drawn := true
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Err: &iterable.PanicError{Value: v}, Stack: debug.Stack()}
		}
		c.scratch.Free()
		if drawn {
			d.Release()
		}
		if err != nil {
			b.Release()
			b, err = nil, c.locate(err, b.Epoch, b.Step, at)
		}
	}()
	rows := d
	if c.buckets {
		rows = &c.sample
	}
	if c.names.seed, c.names.epoch = d.State.Seed, d.Epoch; c.numbered != nil {
		c.names.seed, c.names.epoch = c.numbered()
	}
	limited, _ := m.(Limited)
	if limited != nil {
		limited.Make(ctx)
	}
	if c.imaging != nil {
		at.set(stageImages, 0)
		if err := c.decodeImages(ctx, b, rows); err != nil {
			return b, c.explain(ctx, err, rows)
		}
		if lost := int64(len(b.losses)); !c.buckets {
			b.Sum.Rows, b.Sum.Lost = b.Sum.Rows-lost, b.Sum.Lost+lost
		}
	}
	guarded := func() error { return rowgroup.Guard(ctx, rows.Blocks, func() error { return c.gather(b, rows, at) }) }
	if err := c.timed(at, stageGather, 0, guarded); err != nil {
		return b, c.explain(ctx, err, rows)
	}
	if err := c.pad(b, at); err != nil {
		return b, c.explain(ctx, err, rows)
	}
	drawn = false
	c.names.epochs = append(c.names.epochs[:0], rows.After...)
	clear(c.sample.Blocks)
	d.Release()
	if err := c.finish(ctx, b, at); err != nil {
		return b, err
	}
	if limited != nil {
		limited.Made()
	}
	for n, most := b.bytes, c.largest.Load(); n > most && !c.largest.CompareAndSwap(most, n); most = c.largest.Load() {
	}
	return b, nil
}

// newBatch returns a draw's batch, without columns.
func (c *collator) newBatch(d *iterable.Draw, m Memory) *Batch {
	b := &Batch{
		Rows: d.Rows, Valid: d.Valid, Lost: d.Lost, Epoch: d.Epoch, Step: d.Step, Position: d.Position, State: d.State, memory: m,
		Columns: make([]*column.Array, 0, len(c.schema.Fields)+2*len(c.padders)),
		Sum:     audit.Sum{Rows: int64(d.Valid), Lost: int64(d.Lost), Padded: int64(d.Rows - d.Valid), Hash: d.Hash}, Hashes: slices.Clone(d.Hashes), Gaps: slices.Clone(d.Gaps),
	}
	if c.buckets {
		c.unbucket(b, d)
	}
	return b
}

// unbucket replaces the rows of b by the rows in its draw's samples.
func (c *collator) unbucket(b *Batch, d *iterable.Draw) {
	s := &c.sample
	s.Blocks, s.Picks, s.After = s.Blocks[:0], s.Picks[:0], s.After[:0]
	for _, block := range d.Blocks {
		s.Blocks = append(s.Blocks, block.Listed())
	}
	b.Rows, b.Valid = 0, 0
	for i, p := range d.Picks {
		lo, hi := d.Blocks[p.Block()].List(p.Row())
		for row := lo; row < hi; row++ {
			s.Picks = append(s.Picks, rowgroup.MakePick(p.Block(), row))
			if i < len(d.After) {
				s.After = append(s.After, d.After[i])
			}
		}
		if b.Rows = len(s.Picks); i < d.Valid {
			b.Valid = b.Rows
		}
	}
}

// gather makes one array of each column of the schema. Fixed-width values are stacked; fixed-size
// lists are tensors, without offsets; strings, other lists and maps are offsets and values; each
// node has its validity.
func (c *collator) gather(b *Batch, d *iterable.Draw, at *activity) error {
	columns := b.Columns[:len(c.schema.Fields)]
	c.gatherer.Prepare(d.Blocks, d.Picks, c.fixed)
	defer c.gatherer.Prepare(nil, nil, 0) // the picks of another draw may be in the same memory
	for _, band := range c.bands {
		var err error
		if len(band.columns) > 1 {
			err = c.gatherBand(band, columns, b, d, at)
		} else {
			i := band.columns[0]
			columns[i], err = c.gatherColumn(i, b, d, at)
		}
		if err != nil {
			return err
		}
	}
	b.Columns = columns
	return c.moveBoxes(b, d, at)
}

func (c *collator) gatherColumn(i int, b *Batch, d *iterable.Draw, at *activity) (*column.Array, error) {
	at.set(stageGather, i)
	if s := &c.shape.columns[i]; s.images != nil || s.prunes {
		return c.imageArray(i, b, d)
	}
	alloc := column.Alloc(b.Alloc)
	if c.padded[i] {
		alloc = func(n int) ([]byte, error) { return c.allocScratch(b, n) }
	}
	a, err := c.shape.Gather(&c.gatherer, i, d.Blocks, d.Picks, alloc)
	if err == nil && c.shape.columns[i].stub == nil { // of boxes, which moveBoxes fills
		err = c.fillers[i].apply(a, b.Alloc)
	}
	return a, err
}

// allocScratch returns memory that is valid while the batch is made.
func (c *collator) allocScratch(b *Batch, n int) ([]byte, error) {
	if l, ok := b.memory.(Limited); ok {
		if err := l.Scratch(c.scratch.Need(n)); err != nil {
			return nil, err
		}
	}
	return c.scratch.Alloc(n), nil
}

// gatherBand gathers a band's columns into their places in the batch.
func (c *collator) gatherBand(band *band, columns []*column.Array, b *Batch, d *iterable.Draw, at *activity) error {
	values := len(d.Picks) * band.like.Width
	stride := (values + bandAlign - 1) &^ (bandAlign - 1)
	memory, err := b.Alloc((len(band.columns)-1)*stride + values)
	if err != nil {
		return err
	}
	for k, i := range band.columns {
		at.set(stageGather, i)
		lo, hi := k*stride, k*stride+values
		a, err := c.shape.gatherFixed(&c.gatherer, i, d.Blocks, d.Picks, memory[lo:hi:hi], b.Alloc)
		if err == nil {
			err = c.fillers[i].apply(a, b.Alloc)
		}
		if err != nil {
			return err
		}
		columns[i] = a
	}
	return nil
}

// pad makes ragged lists dense.
func (c *collator) pad(b *Batch, at *activity) error {
	for i, p := range c.padders {
		if err := c.timed(at, stagePad, i, func() error { return p.pad(b, func(n int) ([]byte, error) { return c.allocScratch(b, n) }) }); err != nil {
			return err
		}
	}
	return nil
}

// finish completes a batch whose columns are gathered and padded.
func (c *collator) finish(ctx context.Context, b *Batch, at *activity) error {
	lengths, tokens := c.packed.sources(b)
	if err := c.nameRows(b); err != nil {
		return err
	}
	if err := errors.Join(c.addGeometry(b), c.addTasks(b)); err != nil {
		return err
	}
	if err := c.packed.derive(b, lengths, tokens); err != nil {
		return err
	}
	for i := range c.transforms {
		if err := c.timed(at, stageTransform, i, func() error { return c.apply(ctx, b, i) }); err != nil {
			return err
		}
	}
	return nil
}

// timed runs one stage of a batch and measures its time.
func (c *collator) timed(at *activity, s stage, i int, do func() error) error {
	at.set(s, i)
	defer blocked(&c.times[s], wait.Now())
	return do()
}

// locate adds the place to an error: epoch, step, stage and column.
func (r *recipe) locate(err error, epoch, step int64, at *activity) error {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Err: err}
	}
	s, i := at.get()
	e.Op, e.Rank, e.Epoch, e.Step = r.op(s, i), r.rank, epoch, step
	switch s {
	case stageGather:
		e.Column = r.schema.Fields[i].Name
	case stagePad:
		e.Column = r.padders[i].Column
	}
	return e
}

// op describes a stage.
func (r *recipe) op(s stage, i int) string {
	if s == stageTransform {
		return fmt.Sprintf("transform %s", r.transforms[i].label(i))
	}
	return stageNames[s]
}
