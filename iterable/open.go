package iterable

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Stream starts to read. It reserves the stream's whole memory bound, or fails with a [MemoryError]
// before anything is read. ctx bounds the call alone; the stream runs until Close.
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
	if o.State != nil && o.State.Params != nil {
		if _, err := d.cutWithin(ctx, o.State.Params.UnitRows); err != nil { // which may take a counting pass
			return nil, err
		}
	}
	start, err := d.begin(w.WorldSize, o)
	if err != nil {
		return nil, err
	}
	r, err := d.orderOf(w.WorldSize, o, 0, d.options.Memory)
	if err != nil {
		return nil, err
	}
	p, err := d.portion(r, w, start, o)
	if err != nil {
		return nil, err
	}
	account, err := d.reserve(p.bound, o.Parallel, d.remedy(r, w, start, o))
	if err != nil {
		return nil, err
	}
	if err := d.enter(); err != nil {
		account.Close()
		return nil, err
	}
	s := d.newStream(p, r.state(start.GlobalBatch), start, account, o.Draws)
	s.losses = losses{onError: o.OnError, maxLost: o.MaxLost, rows: start.Rows / int64(w.WorldSize*w.Workers)}
	if o.State != nil && o.State.GlobalBatch != start.GlobalBatch && d.options.Events.BatchChanged != nil {
		d.options.Events.BatchChanged(o.State.GlobalBatch, start.GlobalBatch)
	}
	s.ahead.start(context.WithoutCancel(ctx), d.fetchers, o.Parallel)
	return s, nil
}

// newStream puts the parts of a stream together; base is what all its states have in common.
func (d *Dataset) newStream(p portion, base shuffle.State, start stepper, account *mem.Account, draws int) *Stream {
	s := &Stream{
		dataset: d, account: account, steps: start, base: base, closing: make(chan struct{}),
		allowed: make(chan struct{}, draws), pending: map[key]*load{},
		stamps: make([]uint32, len(d.manifest.Groups())),
	}
	for range draws {
		s.allowed <- struct{}{}
	}
	s.ahead = &readahead{
		manifest: d.manifest, recodes: d.recodes, sharing: &d.sharing, account: account, schedule: p.schedule,
		most: p.bound.early(account.Reserved()), overEstimate: d.options.Events.OverEstimate, events: d.options.Events,
	}
	s.buffer, s.walk = &buffer{ahead: s.ahead}, p.walk(s)
	s.state = s.base
	s.state.Epoch, s.state.Position = start.epoch, start.pos
	return s
}

// drawnRows is how many rows can be in draws that are out. Rows that Pad adds repeat rows of the
// draw.
func (d *Dataset) drawnRows(o StreamOptions) int64 {
	rows := int64(o.BatchSize)
	if o.Tail != shuffle.Carry { // its steps go on into the epochs that follow
		rows = min(rows, d.samples)
	}
	return int64(o.Draws) * rows
}

// BatchBytes foretells the memory of a batch of so many rows: of mean rows, each wider by so many
// bytes, and an eighth for rounding. Without Pad and Carry it has no more rows than an epoch.
func (d *Dataset) BatchBytes(rows int, tail shuffle.Tail, wider int64) int64 {
	return d.batchBytes(StreamOptions{BatchSize: rows, Tail: tail, Batches: 1, Wider: wider})
}

// batchBytes foretells the memory of the batches that the layer above makes: mean rows, and an
// eighth for rounding. A batch of more rows than an epoch has, of Pad or Carry, has some of them
// again, which add their values alone.
func (d *Dataset) batchBytes(o StreamOptions) int64 {
	if o.Batches == 0 || d.NumRows() == 0 {
		return 0
	}
	if d.packing() != nil {
		all := mem.MulDiv(d.packedBytes(), int64(o.Batches)*int64(o.BatchSize), max(1, d.samples)) + int64(o.Batches)*int64(o.BatchSize)*o.Wider
		return all + all/roundingPart + int64(o.Batches)*blockBytes
	}
	var bytes int64
	for _, g := range d.sizes.decoded() {
		bytes += g.narrow + g.wide
	}
	batches, rows := int64(o.Batches), min(int64(o.BatchSize), d.samples)
	all := mem.MulDiv(max(bytes, d.valueBytes()), batches*rows, d.NumRows()) // codes become values
	if again := int64(o.BatchSize) - rows; again > 0 && (o.Tail == shuffle.Pad || o.Tail == shuffle.Carry) {
		all += mem.MulDiv(d.valueBytes(), batches*again, d.NumRows())
	}
	all += batches * int64(o.BatchSize) * o.Wider
	return all + all/roundingPart + batches*blockBytes
}
