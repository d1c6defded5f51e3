package iterable

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/keep"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// scheduled is how many loads can wait for the consumer, whatever their bytes.
const scheduled = 1024

// readahead fetches and decodes the loads of a schedule ahead of the consumer, as far as the
// account goes. It is the only part of a stream that starts goroutines: one that admits loads in
// the order of the schedule, some that fetch, some that decode. The order in which loads get ready
// is left to chance; the consumer asks for each by its key.
//
// A load that the consumer waits for is always admitted: the plan has bounded what is live at that
// moment. It is also the first in line everywhere: loads take memory, then fetchers, in the order
// of the schedule, and so they come to the store, whose requests wait in that order too; the first
// fetched load in the schedule is decoded first.
type readahead struct {
	manifest *rowgroup.Reader // whose decoders read the loads of all sources
	account  *mem.Account
	schedule schedule
	recodes  recodes
	stacks   *rowgroup.Stacks // nil: blocks have only columns
	sharing  *sharing

	loads    chan *load    // admitted, in the order of the schedule
	fetch    chan *load    // to be fetched
	decode   *queue        // fetched
	parking  parking       // fetched, and not decoded before they are needed
	changed  chan struct{} // has a value when admit has to look again
	needed   atomic.Int64  // the number of loads that the consumer waits for; each of them is admitted and granted
	early    atomic.Int64  // bytes granted to loads that the consumer has not taken
	most     int64         // of early, without one load and the loads that the consumer waits for; 0 when the account alone bounds them
	throttle throttle

	evictable evictable

	stop   context.CancelFunc
	owners sync.WaitGroup

	orders sync.Pool // of *[]uint32

	exceeded excess
	tally    tally
	foretold atomic.Int64 // estimates of the bytes in Decoded
	said     atomic.Bool

	keeper   *keep.Keeper // nil: what is decoded is not kept
	inImages bool         // blocks may use images of the tier in place

	overEstimate func(measured, estimated int64) // may be nil
	events       Events
}

// start runs the goroutines, until ctx ends or stop is called.
func (r *readahead) start(ctx context.Context, fetchers, decoders int) {
	ctx, r.stop = context.WithCancel(ctx)
	r.loads, r.fetch, r.decode = make(chan *load, scheduled), make(chan *load, scheduled), newQueue()
	r.changed, r.parking.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.throttle.begin(fetchers, decoders)
	r.account.Evict(r.evict)
	r.owners.Go(func() { r.admit(ctx) })
	if r.keeper != nil {
		r.owners.Go(func() { r.keeper.Run(ctx) })
	}
	var fetching sync.WaitGroup
	for range fetchers {
		fetching.Go(func() {
			for l := range r.fetch {
				r.fetchOne(ctx, l)
			}
		})
	}
	fetched := make(chan struct{})
	r.owners.Go(func() {
		fetching.Wait()
		close(fetched)
	})
	r.owners.Go(func() { r.parking.run(ctx, r, fetched) })
	for range decoders {
		r.owners.Go(func() { r.decodeAll(ctx) })
	}
}

// close stops the goroutines and waits for them. Loads that were not taken are left in r.loads.
func (r *readahead) close() {
	r.stop()
	r.owners.Wait()
}

// fail makes a load ready with an error.
func (r *readahead) fail(l *load, err error) {
	if l.raw != nil {
		l.raw.Release()
		l.raw = nil
	}
	r.leaveOthers(l)
	l.err = err
	r.throttle.land(l)
	r.discharge(l)
	close(l.ready)
}

// fetchOne fetches a load and hands it to the decoders once there is memory for its block. Of a
// shared load that memory comes first: a rank that takes the decoding on lets others wait for it,
// and must not wait for its own consumer then.
func (r *readahead) fetchOne(ctx context.Context, l *load) {
	r.evictable.work(l)
	if l.shared {
		r.evictable.rest(l)
		<-l.granted
		r.evictable.work(l)
		if l.shared && r.joined(ctx, l) {
			return
		}
	}
	err := error(nil)
	if l.charged.fetch == l.est.fetch { // it was not evicted
		err = r.fetchLoad(ctx, l)
	}
	l.fetched = time.Now()
	if l.raw != nil {
		r.throttle.learn(l.raw.Lent())
		r.lookAgain()
	}
	r.evictable.rest(l)
	<-l.granted
	if err = cmp.Or(err, l.refused); err != nil {
		r.evictable.work(l)
		r.fail(l, err)
		return
	}
	r.parking.enter(l)
	r.decode.put(ctx, l)
}

// joined makes a load ready with a block of another stream, or with the error that ended the wait
// for one.
func (r *readahead) joined(ctx context.Context, l *load) bool {
	b, places, err := r.sharing.join(ctx, l.sharedRows())
	l.fetched = time.Now()
	switch {
	case err != nil:
		r.fail(l, err)
	case b != nil:
		l.blocks, l.orders = []*rowgroup.Block{b}, make([][]uint32, len(l.wanted))
		r.parking.enter(l)
		r.ready(l, r.placeFrom(l, places))
	default:
		l.owner = true
		return false
	}
	return true
}

// ready hands a load with its blocks to the consumer. extra is bytes besides theirs.
func (r *readahead) ready(l *load, extra int64) {
	r.adjust(mem.Fetch, &l.charged.fetch, 0)
	r.throttle.land(l)
	r.adjust(mem.Decode, &l.charged.decode, l.bytes()+extra)
	r.lookAgain()
	r.evictable.ready(l)
}

// fetchLoad fetches the bytes of a load, and corrects the account from the estimate to their
// memory.
func (r *readahead) fetchLoad(ctx context.Context, l *load) (err error) {
	defer panics.Caught(l.manifest, l.rows, &err)
	if l.raw, err = l.manifest.Fetch(ctx, l.rows); err == nil {
		r.measure(l)
	}
	return err
}

// measure corrects what is counted of a load's encoded bytes.
func (r *readahead) measure(l *load) {
	l.read, l.kept = l.raw.Bytes(), l.raw.TierBytes()
	r.adjust(mem.Fetch, &l.charged.fetch, l.raw.Held())
}

// loadNow fetches and decodes a load in the caller's goroutine. It is for what no schedule lists,
// which is small.
func (r *readahead) loadNow(ctx context.Context, l *load) error {
	r.account.Charge(mem.Fetch, l.est.fetch)
	r.account.Charge(mem.Decode, l.est.decode)
	l.charged = l.est
	if err := r.fetchLoad(ctx, l); err != nil {
		r.fail(l, err)
		return err
	}
	d := r.newLayer()
	defer d.close()
	return r.decodeOne(ctx, d, l)
}

// decodeAll decodes loads until there are no more. When ctx has ended the remaining ones fail.
func (r *readahead) decodeAll(ctx context.Context) {
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
func (r *readahead) decodeAdmitted(ctx context.Context, d *layer, l *load) error {
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
func (r *readahead) decodeOne(ctx context.Context, d *layer, l *load) error {
	var blocks []*rowgroup.Block
	var extra int64
	err := l.raw.Refetching(ctx, func() (err error) {
		r.measure(l)
		blocks, extra, err = r.decodeRows(d, l)
		return err
	})
	if l.blocks = blocks; err == nil && r.outgrown(l, extra) {
		r.leaveOthers(l)
		r.dropBlocks(l)
		err = errLater
	}
	switch {
	case errors.Is(err, errLater):
		r.adjust(mem.Decode, &l.charged.decode, l.est.decode)
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
	r.keeper.Offer(keep.Place{Manifest: l.manifest, Group: l.group})
	if l.owner {
		r.sharing.settle(l.sharedRows(), blocks[0], d.sharedPlaces(l)) // shared ones are not divided
	}
	r.ready(l, extra)
	return nil
}

// decodeRows decodes and recodes, with panics made errors.
func (r *readahead) decodeRows(d *layer, l *load) (blocks []*rowgroup.Block, extra int64, err error) {
	defer panics.Caught(l.manifest, l.rows, &err)
	d.decoder.Allow(l.charged.decode, func(n int64) error { return r.more(l, n) })
	if l.rules != nil && l.rules.Pack != nil {
		return d.pack(l)
	}
	if l.inImage = r.inImages && l.rules == nil && 2*l.raw.TierBytes() >= l.est.decode-l.est.scratch && l.raw.TierStays(); l.inImage {
		l.parts = 0
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
	r.giveOrder(layout.Order)
	if err != nil {
		return nil, 0, err
	}
	if err = r.transform(blocks, l); err != nil {
		for _, b := range blocks {
			b.Release()
		}
		return nil, 0, err
	}
	return blocks, extra, nil
}

// more takes memory beyond the estimate of a load that is decoded. A load that is not needed yet
// leaves half of the free memory.
func (r *readahead) more(l *load, n int64) error {
	if l.number > r.needed.Load() {
		if !r.account.GrowPlenty(mem.Decode, n) {
			return errLater
		}
	} else if err := r.account.Grow(mem.Decode, n); err != nil {
		return err
	}
	l.charged.decode += n
	return nil
}

// outgrown reports whether a load that is not needed yet became larger than its memory, and there
// is no more. A needed load is counted in any case.
func (r *readahead) outgrown(l *load, extra int64) bool {
	more := l.bytes() + extra - l.charged.decode
	return more > 0 && errors.Is(r.more(l, more), errLater)
}

// stacksOf are the matrices that a load's blocks get in place of columns. Blocks that streams share
// have the columns, since others may not want the matrices.
func (r *readahead) stacksOf(l *load, order []uint32) *rowgroup.Stacks {
	rows := l.rows.Hi - l.rows.Lo
	kept := rows
	if order != nil {
		kept = int64(len(order))
	}
	if r.stacks == nil || l.shared || l.inImage || !l.manifest.StacksFit(r.stacks, l.group, rows, kept, l.parts) {
		return nil
	}
	return r.stacks
}

// transform applies the transforms to the blocks of a load.
func (r *readahead) transform(blocks []*rowgroup.Block, l *load) (err error) {
	defer panics.Caught(l.manifest, l.rows, &err)
	err = r.recodes.apply(blocks)
	var e *rowgroup.Error
	if errors.As(err, &e) {
		e.URI, e.RowGroup = l.manifest.Shards()[l.rows.Shard].URI, l.rows.RowGroup
	}
	return err
}

// adjust corrects the account from what it counts of a load to n bytes.
func (r *readahead) adjust(p mem.Purpose, counted *int64, n int64) {
	if more := n - *counted; more > 0 {
		r.account.Charge(p, more)
	} else {
		r.account.Release(p, -more)
	}
	*counted = n
}

// count adds a decoded load to the statistics, and reports once if the metadata predicted much
// less.
func (r *readahead) count(l *load) {
	g := l.manifest.Groups()[l.group]
	r.foretold.Add(l.est.decode - l.est.scratch)
	measured := r.tally.add(Stats{
		Units: 1, Fetched: l.read, Needed: mem.MulDiv(g.Compressed, l.rows.Hi-l.rows.Lo, g.Rows), Decoded: l.bytes(), Kept: l.kept,
	}).Decoded
	foretold := r.foretold.Load() // of all that was measured, maybe of more
	if measured-foretold > foretold/10 && r.overEstimate != nil && !r.said.Swap(true) {
		r.overEstimate(measured, foretold)
	}
}

// releaseBlocks drops the stream's references to the blocks of a load; nil is one that was released
// before.
func (r *readahead) releaseBlocks(blocks []*rowgroup.Block, rows sharedRows, shared bool) {
	if shared {
		r.sharing.release(rows)
		return
	}
	for _, b := range blocks {
		if b != nil {
			b.Release()
		}
	}
}

// dropBlocks releases the blocks of a load and their orders.
func (r *readahead) dropBlocks(l *load) {
	for _, o := range l.orders {
		r.giveOrder(o)
	}
	r.releaseBlocks(l.blocks, l.sharedRows(), l.shared)
	l.blocks, l.orders = nil, nil
}

// takeOrder returns memory for the order of n rows; giveOrder returns it to the pool.
func (r *readahead) takeOrder(rows int) []uint32 {
	if o, ok := r.orders.Get().(*[]uint32); ok && cap(*o) >= rows {
		return (*o)[:0]
	}
	return make([]uint32, 0, rows)
}

func (r *readahead) giveOrder(o []uint32) {
	if o != nil {
		r.orders.Put(&o)
	}
}
