package cache

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	maxBad = 3 // times that damaged bytes are fetched again for one read

	firstPoll = 2 * time.Millisecond // between two looks at another process's fill
	lastPoll  = 20 * time.Millisecond

	// A read waits for others without progress for Options.waitLimit, plus a second for each of
	// these bytes.
	waitLimitBytes = 16 << 20

	// A read from a source whose requests are scarce waits so long for memory for the bytes around
	// its own, and so long for memory for its fills: without them it costs another request.
	maxScarceWait = 10 * time.Second
)

// A reading is one read under way. It waits for the blocks that others are filling.
type reading struct {
	cache  *Cache
	object *object
	handle *handle
	ranges []shard.Range // all of the read
	rest   []shard.Range // not yet filled
	noFill bool          // fetch bytes that are not held without keeping them

	missed     bool // something was fetched
	bad        int  // times that held bytes were damaged
	deadline   time.Time
	poll       time.Duration
	waited     bool
	memoryWait time.Duration // left to wait for memory for fills
	scarceWait time.Duration // left to wait for memory for bytes around the wanted ones
}

// read fills ranges, which must ascend in the shard. With noFill it keeps nothing that it fetches.
func (c *Cache) read(ctx context.Context, o *object, ranges []shard.Range, noFill bool) error {
	if c.disk.readsOff() {
		return c.bypass(ctx, o, ranges)
	}
	p, err := c.files.acquire(ctx, o.key, !noFill)
	if ctx.Err() != nil {
		if err == nil {
			c.files.release(p)
		}
		return ctx.Err()
	}
	if err != nil {
		c.diskError(err)
		return c.bypass(ctx, o, ranges) // also if the file is missing and has no room
	}
	defer c.files.release(p)
	r := &reading{cache: c, object: o, handle: p, ranges: ranges, rest: ranges, noFill: noFill, memoryWait: maxMemoryWait, scarceWait: maxScarceWait}
	if err := c.touch(p.file); err != nil {
		c.fileError(p, err)
		return c.bypass(ctx, o, ranges)
	}
	err = r.run(ctx)
	if e := (*fileFault)(nil); errors.As(err, &e) {
		c.fileError(p, e.err)
		return c.bypass(ctx, o, r.rest)
	}
	return err
}

// A fileFault is an error of the cache. It costs a fetch, and the reader does not see it.
type fileFault struct{ err error }

func (e *fileFault) Error() string { return e.err.Error() }

func (r *reading) run(ctx context.Context) error {
	c := r.cache
	for {
		before := bytesOf(r.rest)
		if err := r.fromDisk(ctx); err != nil {
			return err
		}
		held := before - bytesOf(r.rest)
		c.hitBytes.Add(held)
		if held > 0 {
			r.deadline = time.Time{}
		}
		if len(r.rest) == 0 {
			break
		}
		if r.noFill || r.bad >= maxBad || !c.mayFill() {
			return c.bypass(ctx, r.object, r.rest)
		}
		late, err := r.fillOrWait(ctx)
		if err != nil {
			return err
		}
		if late {
			return c.bypass(ctx, r.object, r.rest)
		}
	}
	if r.missed {
		c.misses.Add(1)
	} else {
		c.hits.Add(1)
	}
	return nil
}

// fillOrWait fetches the blocks that no other reader is fetching, and then waits for the others.
func (r *reading) fillOrWait(ctx context.Context) (late bool, err error) {
	got, ranges, err := r.fetch(ctx)
	if err != nil {
		return false, err
	}
	n := r.keep(ctx, got.mine, ranges)
	if len(r.rest) == 0 {
		return false, nil
	}
	return r.wait(ctx, got, n > 0)
}

func (r *reading) fromDisk(ctx context.Context) error {
	check := checker{file: r.handle.file, cache: r.cache}
	defer check.done()
	rest, err := check.fill(ctx, r.rest)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &fileFault{err}
	}
	if check.wrong {
		r.bad++
	}
	r.rest = rest
	return nil
}

// fetch claims the missing blocks and fetches those that no other reader is fetching, as ranges.
func (r *reading) fetch(ctx context.Context) (got *claim, ranges []shard.Range, err error) {
	c := r.cache
	wanted, borrowed, err := r.around(ctx, spansOf(r.rest))
	if err != nil {
		return nil, nil, err
	}
	defer c.pending.Release(borrowed)
	if got, err = c.claimAll(r.handle, wanted); err != nil {
		return nil, nil, &fileFault{err}
	}
	if len(got.mine) == 0 {
		return got, nil, nil
	}
	r.missed = true
	ranges, err = c.fetch(ctx, r.object, got.mine, r.rest)
	return got, ranges, err
}

// around returns the spans to fetch for missing ones. If the source's requests are scarce, it adds
// the bytes around them, up to the edges of the shard's parts, so that reads of a shard agree on its
// requests: in small shards, and for a reader that wants most of the shard. It does so only if the
// disk has room and memory gets free. borrowed is the pending memory that it took for the added
// bytes.
func (r *reading) around(ctx context.Context, missing []shard.Span) (wanted []shard.Span, borrowed int64, err error) {
	c, first, end := r.cache, missing[0].Off, missing[len(missing)-1].End()
	inner, err := r.object.source(ctx)
	if err != nil {
		return nil, 0, err
	}
	chunk, size := shard.ChunkOf(inner), r.object.shard.Size
	if chunk == 0 {
		return missing, 0, nil
	}
	r.memoryWait = max(r.memoryWait, r.scarceWait)
	part := evenPart(size, min(chunk, c.options.Pending/2))
	if end-first >= part || !comesWhole(inner, size) && !shard.WantsMost(ctx) {
		return missing, 0, nil
	}
	all := shard.Span{Off: first / part * part}
	all.N = min((end+part-1)/part*part, size) - all.Off
	others := all.N - spanBytes(missing)
	if left, err := c.left(false); err != nil || left < all.N || !c.borrow(ctx, others, &r.scarceWait) {
		return missing, 0, ctx.Err() // an error of the account does not matter to the read
	}
	return []shard.Span{all}, others, nil
}

// wholePart is the part of a chunk up to which a shard is fetched whole.
const wholePart = 8

// comesWhole reports whether a shard is so small, beside what is worth a request of its store, that
// it is fetched whole.
func comesWhole(inner shard.Object, size int64) bool { return size <= shard.ChunkOf(inner)/wholePart }

// evenPart is the length of the parts in which a shard is fetched. They are whole segments, as equal
// as these permit, and at most the given length.
func evenPart(size, most int64) int64 {
	segments := max(most/segmentBytes, 1)
	parts := (size + segments*segmentBytes - 1) / (segments * segmentBytes)
	return (size + parts*segmentBytes - 1) / (parts * segmentBytes) * segmentBytes
}

// borrow acquires n bytes of pending, and waits for at most waitLimit, which it reduces by the time
// it waited.
func (c *Cache) borrow(ctx context.Context, n int64, waitLimit *time.Duration) bool {
	if c.pending.TryAcquire(n) {
		return true
	}
	if n > c.options.Pending {
		return false
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, *waitLimit)
	defer cancel()
	err := c.pending.Acquire(ctx, n)
	*waitLimit -= time.Since(start)
	return err == nil
}

// keep hands fetched segments on to the disk, and returns how many wanted bytes they have.
func (r *reading) keep(ctx context.Context, segments []*segment, ranges []shard.Range) (n int64) {
	before := bytesOf(r.rest)
	r.rest = without(r.rest, allSpans(segments))
	for _, s := range segments {
		r.cache.fillLater(ctx, s, ranges, &r.memoryWait)
	}
	return before - bytesOf(r.rest)
}

// wait returns when it is worth looking again: another fill ended, or some time passed. late
// reports a wait without progress for too long. The caller must hold only pending segments
// meanwhile.
func (r *reading) wait(ctx context.Context, got *claim, progress bool) (late bool, err error) {
	if !r.waited && (got.foreign || len(got.others) > 0) {
		r.waited = true
		r.cache.waited.Add(1)
	}
	now := time.Now()
	if progress || r.deadline.IsZero() {
		r.deadline = now.Add(r.cache.options.waitLimit + time.Duration(bytesOf(r.rest)/waitLimitBytes)*time.Second)
		r.poll = firstPoll
	}
	if now.After(r.deadline) {
		return true, nil
	}
	var other <-chan struct{}
	pause := time.Until(r.deadline)
	switch {
	case len(got.others) > 0:
		other = got.others[0].done
	case got.foreign:
		pause = min(pause, r.poll)
		r.poll = min(2*r.poll, lastPoll)
	default:
		return false, nil // it was filled, or went bad, between two looks
	}
	probe := wait.ProbeOf(ctx)
	probe.Start()
	select {
	case <-other:
	case <-time.After(pause):
	case <-ctx.Done():
		err = ctx.Err()
	}
	probe.EndAt(got.came())
	return false, err
}

// bypass fills ranges from the source and does not cache them.
func (c *Cache) bypass(ctx context.Context, o *object, ranges []shard.Range) error {
	c.bypassed.Add(1)
	if err := o.readSource(ctx, ranges); err != nil {
		return err
	}
	c.bypassBytes.Add(bytesOf(ranges))
	return nil
}

// fetch reads the bytes of segments from the source, into the missing ranges if they overlap,
// and returns them all as ranges. After an error it abandons the segments.
func (c *Cache) fetch(ctx context.Context, o *object, segments []*segment, missing []shard.Range) (ranges []shard.Range, err error) {
	done := false
	defer func() {
		if !done { // an error, or a panic of the store's
			c.abandon(segments, errNotFetched)
		}
	}()
	ranges = cover(allSpans(segments), missing)
	if err := o.readSource(ctx, ranges); err != nil {
		return nil, err
	}
	c.missBytes.Add(bytesOf(ranges))
	for now, i := wait.Now(), 0; i < len(segments); i++ {
		segments[i].came.Store(now)
	}
	done = true
	return ranges, nil
}

var errNotFetched = errors.New("the bytes did not come")

func allSpans(segments []*segment) (spans []shard.Span) {
	for _, s := range segments {
		for _, span := range s.spans {
			spans = appendSpan(spans, span)
		}
	}
	return spans
}
