package iterable

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/iterable/internal/transform"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Stream starts to read. It reserves the stream's whole memory bound, or fails with a [MemoryError]
// before anything is read. ctx bounds only the call; the stream runs until Close.
func (d *Dataset) Stream(ctx context.Context, w shuffle.Worker, o StreamOptions) (*Stream, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("stream options: %w", err)
	}
	if err := w.Validate(); err != nil {
		return nil, err
	}
	if err := cause.Of(ctx); err != nil {
		return nil, err
	}
	o = o.withDefaults(d)
	w.WorldSize, w.Workers = max(w.WorldSize, 1), max(w.Workers, 1)
	if err := d.recount(ctx, o.State); err != nil {
		return nil, err
	}
	start, r, err := d.started(w.WorldSize, o)
	if err != nil {
		return nil, err
	}
	p, err := d.portion(r, w, start, o)
	if err != nil {
		return nil, err
	}
	account, inImages, err := d.reserve(p.bound, o.Parallel, d.remedy(r, w, start, o))
	if err != nil {
		return nil, err
	}
	if err := r.note(d.notes, w, start.GlobalBatch, o); err != nil {
		account.Close()
		return nil, err
	}
	if err := d.enter(); err != nil {
		account.Close()
		return nil, err
	}
	inImages = inImages && !o.Copied
	keeper := d.keeping.Keeper(account, inImages)
	if keeper != nil {
		account.Beside(keeper.Reserved())
	}
	s := d.newStream(p, r.state(start.GlobalBatch), start, o.Draws, ahead.Options{Account: account, Horizon: o.Horizon, Stacks: o.Stacks, InImages: inImages, Keeper: keeper})
	s.hashes = o.Hashes
	s.losses.Losses, s.losses.rows = d.options.Losses.withDefaults(), start.Rows/int64(w.WorldSize*w.Workers)
	s.losses.each = start.GlobalBatch / int64(w.WorldSize*w.Workers)
	if o.State != nil && o.State.GlobalBatch != start.GlobalBatch && d.options.Events.BatchChanged != nil {
		d.options.Events.BatchChanged(o.State.GlobalBatch, start.GlobalBatch)
	}
	if inImages {
		if s.mapping = d.keeping.Mapping(account, keeper, d.imageBytes()/int64(max(1, o.LocalWorldSize))); s.mapping != nil {
			account.Beside(s.mapping.Reserved().Total())
		}
	}
	s.ahead.Start(context.WithoutCancel(ctx), d.fetchers, o.Parallel)
	return s, nil
}

// portion returns what a worker reads of an order, with the memory of the layers above.
func (d *Dataset) portion(r order, w shuffle.Worker, start stepper, o StreamOptions) (portion, error) {
	p, err := r.portion(w, start, o.Seats, d.drawnRows(o))
	p.bound.batch, p.bound.store = d.batchBytes(o), d.sharedMemory()
	p.bound.scratch, p.bound.moreScratch = o.Scratch, o.MoreScratch
	return p, err
}

// sharedMemory is the memory of the stores below, of tokenizers' tables, and of deleted rows.
func (d *Dataset) sharedMemory() int64 {
	var deleted int64
	var all []*transform.Columns
	for _, s := range d.sources {
		deleted, all = deleted+s.options.table.Bytes(), append(all, &s.transforms)
	}
	return d.options.StoreMemory + deleted + transform.Tables(all...)
}

// recount counts the samples of a state's units, which may take a pass over the data.
func (d *Dataset) recount(ctx context.Context, state *shuffle.State) error {
	if state == nil {
		return nil
	}
	for i, s := range d.sources {
		rows := int64(0)
		switch {
		case state.Params != nil:
			rows = state.Params.UnitRows
		case state.MixState != nil && i < len(state.Sources):
			rows = state.Sources[i].Params.UnitRows
		default:
			continue
		}
		if _, err := s.cutWithin(ctx, cut{rows: rows}); err != nil {
			return err
		}
	}
	return nil
}

// newStream puts the parts of a stream together; all its states share base.
func (d *Dataset) newStream(p portion, base shuffle.State, start stepper, draws int, o ahead.Options) *Stream {
	s := &Stream{
		dataset: d, account: o.Account, steps: start, base: base, closing: make(chan struct{}),
		allowed: make(chan struct{}, draws), pending: map[ahead.Key]*arrival{},
		keys: d.auditKeys(base.Seed), stamps: make([]uint32, d.groups()),
	}
	for range draws {
		s.allowed <- struct{}{}
	}
	o.Schedule, o.Closing, o.Early, o.Truncated = p.schedule, s.closing, p.bound.early(s.account.Reserved()), d.options.Events.Truncated
	o.Seed = base.Seed
	s.ahead = d.readAhead(d.Manifest(), o)
	s.buffer, s.walk = &buffer{ahead: s.ahead}, p.walk(s)
	s.state = s.base
	s.state.Epoch, s.state.Position = start.epoch, start.pos
	return s
}

// readAhead returns a reader of loads of the data set.
func (d *Dataset) readAhead(m *rowgroup.Reader, o ahead.Options) *ahead.Reader {
	o.Manifest, o.Sharing, o.OverEstimate = m, &d.sharing, d.options.Events.OverEstimate
	return ahead.New(o)
}

// drawnRows is how many rows can be in draws that are out. Rows that Pad adds repeat rows of the
// draw.
func (d *Dataset) drawnRows(o StreamOptions) int64 {
	rows := int64(o.BatchSize)
	if o.Tail != shuffle.Carry && !d.options.perSource() { // their steps go on into the epochs that follow
		rows = min(rows, d.NumSamples())
	}
	return int64(o.Draws) * rows
}

// BatchBytes predicts the memory of a batch: of mean rows, each wider by a number of
// bytes, and an eighth for rounding. Without Pad and Carry it has no more rows than an epoch.
func (d *Dataset) BatchBytes(rows int, tail shuffle.Tail, wider int64) int64 {
	return d.batchBytes(StreamOptions{BatchSize: rows, Tail: tail, Batches: 1, Wider: wider})
}

// batchBytes predicts the memory of the batches that the layer above makes: mean rows, and an
// eighth for rounding. A batch of more rows than an epoch has, of Pad or Carry, has some of them
// again, which add only their values.
func (d *Dataset) batchBytes(o StreamOptions) int64 {
	if o.Batches == 0 || d.NumRows() == 0 {
		return 0
	}
	if all, ok := d.packedBatches(o); ok {
		return all
	}
	batches, rows := int64(o.Batches), int64(o.BatchSize)
	if !d.options.perSource() {
		rows = min(rows, d.NumSamples())
	}
	all, _ := d.rowBytes(batches * rows) // codes become values
	if again := int64(o.BatchSize) - rows; again > 0 && (o.Tail == shuffle.Pad || o.Tail == shuffle.Carry) {
		_, values := d.rowBytes(batches * again)
		all += values
	}
	all += batches * int64(o.BatchSize) * o.Wider
	return estimate.InBlocks(all, batches)
}

// rowBytes estimates n average rows: the larger of their decoded size and value size, and the value
// size. Where steps are of one source, they are of the one whose rows take the most.
func (d *Dataset) rowBytes(rows int64) (most, values int64) {
	parts := d.blend.parts(rows)
	for i, s := range d.sources {
		bytes, allValues := s.sizes.total()
		all := s.manifest.NumRows()
		more, moreValues := mem.MulDiv(max(bytes, allValues), parts[i], all), mem.MulDiv(allValues, parts[i], all)
		if d.options.perSource() {
			most, values = max(most, more), max(values, moreValues)
			continue
		}
		most, values = most+more, values+moreValues
	}
	return most, values
}

// packedBatches is batchBytes where rows are packed.
func (d *Dataset) packedBatches(o StreamOptions) (all int64, packed bool) {
	if d.packing() == nil {
		return 0, false
	}
	samples := int64(o.Batches) * int64(o.BatchSize)
	parts := d.blend.parts(samples)
	for i, s := range d.sources {
		more := mem.MulDiv(s.packedBytes(), parts[i], max(1, s.samples))
		if d.options.perSource() {
			all = max(all, more)
			continue
		}
		all += more
	}
	all += samples * o.Wider
	return estimate.InBlocks(all, int64(o.Batches)), true
}

// groups of all sources, by the numbers that loads have for them.
func (d *Dataset) groups() int {
	last := d.sources[len(d.sources)-1]
	return last.sizes.before + len(last.manifest.Groups())
}
