package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

const (
	batchBytes = 16 << 20 // bytes that a Fill fetches at once, or what is worth a request of the store
	fillTries  = 3        // times that filled bytes may be damaged or lost before a Fill fails
)

// Fill fetches the missing bytes of the spans of a shard; they are on the disk when Fill returns.
// progress, if set, is called with the number of bytes of the spans that are held. If the bytes do
// not fit Fill returns ErrFull. Beside the pending bytes it uses up to 16 MiB of memory, or as much as
// is worth a request of the store.
func (c *Cache) Fill(ctx context.Context, inner shard.Store, s shard.Shard, spans []shard.Span, progress func(n int64)) (fetched int64, err error) {
	if progress == nil {
		progress = func(int64) {}
	}
	k, ok := keyOf(inner, s)
	if !ok {
		return 0, &shard.Error{Op: "fill", URI: s.URI, Err: errors.New("a shard without a version, or without bytes, cannot be cached")}
	}
	o := newObject(c, inner, s, k)
	defer o.Close()
	if spans, err = o.normal(spans); err == nil {
		fetched, err = c.fill(ctx, o, spans, progress)
	}
	if err != nil {
		err = o.wrap("fill", err)
	}
	return fetched, err
}

// normal sorts spans and joins neighbours that touch or overlap.
func (o *object) normal(spans []shard.Span) (joined []shard.Span, err error) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b shard.Span) int { return cmp.Compare(a.Off, b.Off) })
	for _, s := range spans {
		if err := s.Within(o.shard.Size); err != nil {
			return nil, err
		}
		if n := len(joined); n > 0 && s.Off < joined[n-1].End() {
			s = shard.Span{Off: joined[n-1].End(), N: max(0, s.End()-joined[n-1].End())}
		}
		joined = appendSpan(joined, s)
	}
	return joined, nil
}

func (c *Cache) fill(ctx context.Context, o *object, spans []shard.Span, progress func(n int64)) (fetched int64, err error) {
	if len(spans) == 0 {
		return 0, ctx.Err()
	}
	p, err := c.files.acquire(ctx, o.key, true)
	if err != nil {
		c.diskError(err)
		return 0, err
	}
	defer c.files.release(p)
	if err := c.touch(p.file); err != nil {
		return 0, err
	}
	f := &filling{reading: reading{cache: c, object: o, handle: p}}
	room := f.batchBytes(ctx, spanBytes(spans))
	for len(spans) > 0 {
		var batch []shard.Span
		batch, spans = takeBatch(spans, room)
		if err := f.patiently(ctx, batch); err != nil {
			return f.fetched, err
		}
		progress(spanBytes(batch))
	}
	return f.fetched, nil
}

// batchBytes divides n bytes into batches of about equal length.
func (f *filling) batchBytes(ctx context.Context, n int64) int64 {
	most := int64(batchBytes)
	if inner, err := f.object.source(ctx); err == nil { // an error is the first fetch's
		most = max(most, shard.ChunkOf(inner))
	}
	return evenPart(n, most)
}

// takeBatch cuts the first bytes off spans.
func takeBatch(spans []shard.Span, room int64) (batch, rest []shard.Span) {
	for len(spans) > 0 && room > 0 {
		s := spans[0]
		if s.N > room {
			batch = append(batch, shard.Span{Off: s.Off, N: room})
			rest = append([]shard.Span{{Off: s.Off + room, N: s.N - room}}, spans[1:]...)
			return batch, rest
		}
		batch, spans, room = append(batch, s), spans[1:], room-s.N
	}
	return batch, spans
}

// A filling is a reading that only fills the disk.
type filling struct {
	reading
	buffer  []byte
	fetched int64
}

// patiently is batch, but looks for room again if RoomFor has found some: bytes that are being
// written count twice in a scan.
func (f *filling) patiently(ctx context.Context, spans []shard.Span) error {
	c := f.cache
	for try := 0; ; try++ {
		err := f.batch(ctx, spans)
		if !errors.Is(err, ErrFull) || try == fillTries || !c.isWanted(f.handle.name) {
			return err
		}
		select {
		case <-time.After(time.Until(c.usage.scanAfter(false))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *filling) batch(ctx context.Context, spans []shard.Span) error {
	for try := 0; ; {
		missing, err := f.handle.file.missing(spans)
		if err != nil {
			f.cache.fileError(f.handle, err)
			return err
		}
		if len(missing) == 0 {
			return ctx.Err()
		}
		if f.cache.root.ReadOnly() {
			return errReadOnly
		}
		if try == fillTries {
			return fmt.Errorf("%d bytes do not stay on the disk", spanBytes(missing))
		}
		f.rest = f.ranges(missing)
		got, err := f.cache.claimAll(f.handle, spansOf(f.rest))
		if err != nil {
			f.cache.fileError(f.handle, err)
			return err
		}
		if len(got.mine) > 0 {
			try++
		}
		if err := f.store(ctx, got.mine); err != nil {
			return err
		}
		late, err := f.wait(ctx, got, len(got.mine) > 0)
		if err != nil {
			return err
		}
		if late {
			return errors.New("another process has locked it and does not fill it")
		}
	}
}

// missing returns the parts of spans that the table does not hold.
func (x *file) missing(spans []shard.Span) (missing []shard.Span, err error) {
	err = shard.Guard(func() error {
		for _, s := range spans {
			for off := s.Off; off < s.End(); {
				block := off / blockSize
				end := min(s.End(), (block+1)*blockSize)
				run := x.run(block, x.entry(block))
				if run.N == 0 || run.End() <= off || run.Off >= end {
					run = shard.Span{Off: end}
				}
				missing = appendSpan(missing, shard.Span{Off: off, N: max(0, run.Off-off)})
				if from := max(off, run.End()); from < end {
					missing = appendSpan(missing, shard.Span{Off: from, N: end - from})
				}
				off = end
			}
		}
		return nil
	})
	return missing, err
}

func (f *filling) ranges(spans []shard.Span) (ranges []shard.Range) {
	if n := spanBytes(spans); int64(cap(f.buffer)) < n {
		f.buffer = make([]byte, n)
	}
	free := f.buffer[:cap(f.buffer)]
	for _, s := range spans {
		ranges = append(ranges, shard.Range{Off: s.Off, P: free[:s.N:s.N]})
		free = free[s.N:]
	}
	return ranges
}

// store fetches the bytes of segments and waits until they are on the disk.
func (f *filling) store(ctx context.Context, segments []*segment) error {
	if len(segments) == 0 {
		return nil
	}
	c := f.cache
	if c.disk.fillsOff() {
		c.abandon(segments, errOff)
		return errOff
	}
	ranges, err := c.fetch(ctx, f.object, segments, f.rest)
	if err != nil {
		return err
	}
	f.fetched += bytesOf(ranges)
	for i, s := range segments {
		if err := c.fillInTime(ctx, s, ranges); err != nil {
			c.abandon(segments[i+1:], err)
			return err
		}
	}
	for _, s := range segments {
		select {
		case <-s.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

var errOff = errors.New("the disk of the cache failed not long ago")

// Held returns how many bytes of the spans are held, according to the table of the shard's file.
// Overlapping spans count once.
func (c *Cache) Held(inner shard.Store, s shard.Shard, spans []shard.Span) (held int64, err error) {
	k, ok := keyOf(inner, s)
	if !ok {
		return 0, nil
	}
	o := newObject(c, inner, s, k)
	spans, err = o.normal(spans)
	if err != nil || len(spans) == 0 {
		return 0, err
	}
	p, err := c.files.acquire(context.Background(), k, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer c.files.release(p)
	missing, err := p.file.missing(spans)
	return spanBytes(spans) - spanBytes(missing), err
}
