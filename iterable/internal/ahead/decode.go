package ahead

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/keep"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// decodeAll decodes loads until there are no more. When ctx has ended the remaining ones fail.
func (r *Reader) decodeAll(ctx context.Context) {
	d := r.newLayer()
	defer func() { d.close() }()
	for l := r.decode.take(); l != nil; l = r.decode.take() {
		r.evictable.work(l)
		if err := ctx.Err(); err != nil {
			r.fail(l, err)
			continue
		}
		err := r.decodeAdmitted(ctx, d, l)
		if errors.Is(err, errLater) {
			r.leaveOthers(l)
			r.evictable.rest(l)
			if !r.parking.park(l) {
				r.evictable.work(l)
				r.fail(l, err)
			}
			continue
		}
		if panics.Is(err) {
			d.close()
			d = r.newLayer() // the old one may be in any state
		}
	}
}

// decodeAdmitted is decodeOne for a load of the schedule, which may have been evicted.
func (r *Reader) decodeAdmitted(ctx context.Context, d *layer, l *Load) error {
	if l.raw == nil {
		if l.number > r.needed.Load() {
			return errLater
		}
		if err := r.refill(ctx, l); err != nil {
			r.fail(l, err)
			return err
		}
	}
	return r.decodeOne(ctx, d, l)
}

// decodeOne makes the blocks and the orders of a load.
func (r *Reader) decodeOne(ctx context.Context, d *layer, l *Load) error {
	var blocks []*rowgroup.Block
	var extra int64
	probe := wait.NewProbe(&l.trail, wait.Decode)
	err := l.raw.Refetching(wait.With(ctx, probe), func() (err error) {
		r.measure(l)
		blocks, extra, err = r.decodeRows(d, l)
		return err
	})
	probe.Stop()
	if l.blocks = blocks; err == nil && r.outgrown(l, extra) {
		r.leaveOthers(l)
		r.dropBlocks(l)
		err = errLater
	}
	switch {
	case errors.Is(err, errLater):
		r.adjust(mem.Decode, &l.charged.Decode, l.Estimate.Decode)
		return err
	case err != nil:
		r.fail(l, err)
		return err
	}
	r.exceeded.learn(l)
	l.raw.Release()
	l.raw = nil
	if l.inImage {
		r.remakeLater(l)
	}
	r.count(l)
	r.Keeper.Offer(keep.Place{Manifest: l.Manifest, Group: l.Group})
	if l.owner {
		r.Sharing.settle(l.sharedRows(), blocks[0], d.sharedPlaces(l)) // shared ones are not divided
	}
	r.ready(l, extra)
	return nil
}

// decodeRows decodes and recodes, with panics made errors.
func (r *Reader) decodeRows(d *layer, l *Load) (blocks []*rowgroup.Block, extra int64, err error) {
	defer panics.Caught(l.Manifest, l.Rows, &err)
	d.decoder.Allow(l.charged.Decode, func(n int64) error { return r.more(l, n) })
	if l.Rules != nil && l.Rules.Pack != nil {
		return d.pack(l)
	}
	if l.inImage = r.InImages && l.Rules == nil && 2*l.raw.TierBytes() >= l.Estimate.Decode-l.Estimate.Scratch && l.raw.TierStays(); l.inImage {
		l.Parts = 0
	}
	layout, extra, err := d.layOut(l)
	if err != nil {
		return nil, 0, err
	}
	layout.Stacks, layout.InImage = r.stacksOf(l, layout.Order), l.inImage
	blocks, err = d.decoder.Decode(l.raw, layout)
	if layout.Stacks != nil && errors.Is(err, rowgroup.ErrMisfit) { // the batch that gets the value fails, not those before
		layout.Stacks = nil
		blocks, err = d.decoder.Decode(l.raw, layout)
	}
	r.GiveOrder(layout.Order)
	if err != nil {
		return nil, 0, err
	}
	if err = r.transform(d.decoder, blocks, nil, l); err != nil {
		for _, b := range blocks {
			b.Release()
		}
		return nil, 0, err
	}
	return blocks, extra, nil
}

// more takes memory beyond the estimate of a load that is decoded. A load that is not needed yet
// leaves half of the free memory.
func (r *Reader) more(l *Load, n int64) error {
	if l.number > r.needed.Load() {
		if !r.Account.GrowPlenty(mem.Decode, n) {
			return errLater
		}
	} else if err := r.Account.Grow(mem.Decode, n); err != nil {
		return err
	}
	l.charged.Decode += n
	return nil
}

// outgrown reports whether a load that is not needed yet became larger than its memory, and there
// is no more. A needed load is counted in any case.
func (r *Reader) outgrown(l *Load, extra int64) bool {
	more := l.bytes() + extra - l.charged.Decode
	return more > 0 && errors.Is(r.more(l, more), errLater)
}

// stacksOf are the matrices that a load's blocks get in place of columns. Blocks that streams share
// have the columns, since others may not want the matrices.
func (r *Reader) stacksOf(l *Load, order []uint32) *rowgroup.Stacks {
	rows := l.Rows.Hi - l.Rows.Lo
	kept := rows
	if order != nil {
		kept = int64(len(order))
	}
	if r.Stacks == nil || l.Shared || l.inImage || !l.Manifest.StacksFit(r.Stacks, l.Group, rows, kept, l.Parts) {
		return nil
	}
	return r.Stacks
}

// transform changes the blocks of a load as the options say.
func (r *Reader) transform(d *rowgroup.Decoder, blocks []*rowgroup.Block, rows []uint32, l *Load) (err error) {
	defer panics.Caught(l.Manifest, l.Rows, &err)
	if l.Transforms == nil {
		return nil
	}
	made, err := l.Transforms.Apply(d, blocks, rows)
	r.counts.add(Counts{Tokens: made.Tokens, Special: made.Special, Truncated: made.Cut})
	var e *rowgroup.Error
	if errors.As(err, &e) {
		e.URI, e.RowGroup = l.Manifest.Shards()[l.Rows.Shard].URI, l.Rows.RowGroup
	}
	return err
}
