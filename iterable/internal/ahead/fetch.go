package ahead

import (
	"cmp"
	"context"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// fetchOne fetches a load and hands it to the decoders once there is memory for its block. Of a
// shared load that memory comes first: a rank that takes the decoding on lets others wait for it,
// and must not wait for its own consumer then.
func (r *Reader) fetchOne(ctx context.Context, l *Load) {
	r.evictable.work(l)
	if l.Shared {
		r.evictable.rest(l)
		l.trail.Next(wait.Room)
		<-l.granted
		l.trail.Until(wait.Now(), wait.Room)
		r.evictable.work(l)
		if l.Shared && r.joined(ctx, l) {
			return
		}
	}
	err := error(nil)
	if l.charged.Fetch == l.Estimate.Fetch { // it was not evicted
		err = r.fetchLoad(ctx, l)
	}
	if l.raw != nil {
		r.throttle.learn(l.raw.Lent())
		r.lookAgain()
	}
	r.evictable.rest(l)
	l.trail.Next(wait.Room)
	<-l.granted
	l.trail.Until(wait.Now(), wait.Room)
	l.trail.Next(wait.Decode) // also while it waits for a decoder
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
func (r *Reader) joined(ctx context.Context, l *Load) bool {
	b, places, err := r.Sharing.join(ctx, l.sharedRows(), &l.trail)
	switch {
	case err != nil:
		r.fail(l, err)
	case b != nil:
		l.blocks, l.orders = []*rowgroup.Block{b}, make([][]uint32, len(l.Wanted))
		r.parking.enter(l)
		r.ready(l, r.placeFrom(l, places))
	default:
		l.owner = true
		return false
	}
	return true
}

// fetchLoad fetches the bytes of a load, and corrects the account from the estimate to their
// memory.
func (r *Reader) fetchLoad(ctx context.Context, l *Load) (err error) {
	defer panics.Caught(l.Manifest, l.Rows, &err)
	probe := wait.NewProbe(&l.trail, wait.Storage)
	defer probe.Stop()
	if l.raw, err = l.Manifest.Fetch(wait.With(ctx, probe), l.Rows); err == nil {
		r.measure(l)
	}
	return err
}

// measure corrects what is counted of a load's encoded bytes.
func (r *Reader) measure(l *Load) {
	l.read, l.kept = l.raw.Bytes(), l.raw.TierBytes()
	r.adjust(mem.Fetch, &l.charged.Fetch, l.raw.Held())
}
