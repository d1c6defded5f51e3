package cache

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// smallestPending is the least memory that a pending segment is charged.
const smallestPending = 32 << 10

// pendingBytes is the memory that n pending bytes are charged.
func pendingBytes(n int64) int64 { return max(mem.ClassBytes(n), smallestPending) }

// maxMemoryWait bounds the total time that one read waits for memory for its fills.
const maxMemoryWait = time.Second

// fillLater copies the bytes of a segment out of ranges and queues it for a writer. If memory is
// short it waits for at most waitLimit, which it reduces by the time it waited, so that bursts are
// not dropped. Without memory the segment is settled unfilled.
func (c *Cache) fillLater(ctx context.Context, s *segment, ranges []shard.Range, waitLimit *time.Duration) {
	n := spanBytes(s.spans)
	if c.pending.TryAcquire(pendingBytes(n)) || c.waitForMemory(ctx, pendingBytes(n), waitLimit) {
		c.enqueue(s, ranges, n)
		return
	}
	c.drop(s, errNoMemory)
}

// waitForMemory waits for n bytes of pending, but not for a disk that has been stuck for long.
func (c *Cache) waitForMemory(ctx context.Context, n int64, waitLimit *time.Duration) bool {
	if *waitLimit <= 0 || c.disk.stuck() {
		return false
	}
	start, before := time.Now(), c.written.Load()
	ctx, cancel := context.WithTimeout(ctx, *waitLimit)
	defer cancel()
	err := c.pending.Acquire(ctx, n)
	waited := time.Since(start)
	*waitLimit -= waited
	if err != nil && waited > maxMemoryWait/2 && c.written.Load() == before {
		c.disk.stick()
	}
	return err == nil
}

var errNoMemory = errors.New("too many bytes wait for the disk")

// fillInTime is fillLater without a limit on the wait for memory.
func (c *Cache) fillInTime(ctx context.Context, s *segment, ranges []shard.Range) error {
	n := spanBytes(s.spans)
	if err := c.pending.Acquire(ctx, pendingBytes(n)); err != nil {
		c.drop(s, err)
		return err
	}
	c.enqueue(s, ranges, n)
	return nil
}

// enqueue copies and queues a segment of n bytes, whose memory is acquired.
func (c *Cache) enqueue(s *segment, ranges []shard.Range, n int64) {
	c.pendingNow.Add(n)
	s.data = c.pool.Get(int(n))
	gather(s.data, s.spans, ranges)
	c.mu.Lock()
	if c.closing {
		c.mu.Unlock()
		c.recycle(s)
		c.drop(s, ErrClosed)
		return
	}
	c.fills.Add(1)
	c.mu.Unlock()
	c.queue <- s // it holds all that pending lets in
}

// drop settles a segment whose bytes were fetched or decoded and are not kept.
func (c *Cache) drop(s *segment, err error) {
	if !s.handle.file.decoded() {
		c.dropped.Add(spanBytes(s.spans))
	}
	c.settle(s, err)
}

func (c *Cache) recycle(s *segment) {
	c.pendingNow.Add(-int64(len(s.data)))
	c.pending.Release(pendingBytes(int64(len(s.data))))
	c.pool.Put(s.data)
	s.data = nil
}

// writer writes segments to the disk. Open starts it and Close waits for it.
func (c *Cache) writer() {
	for {
		select {
		case s := <-c.queue:
			c.write(s)
			c.fills.Done()
		case <-c.stop:
			return
		}
	}
}

func (c *Cache) write(s *segment) {
	err := ErrClosed
	whole, stored := spanBytes(s.spans), int64(0)
	if !c.hurry.Load() {
		stored, err = c.store(s)
	}
	c.written.Add(1)
	if s.handle.file.decoded() {
		c.decodedFilledBytes.Add(stored)
	} else {
		c.filledBytes.Add(stored)
		c.dropped.Add(whole - stored)
	}
	c.fileError(s.handle, err)
	c.recycle(s)
	c.settle(s, err)
}

// store writes the bytes of a segment, as many of its blocks as fit, and then their entries.
func (c *Cache) store(s *segment) (stored int64, err error) {
	whole := len(s.patches)
	reserved, err := c.reserveFor(s)
	if err != nil {
		return 0, err
	}
	if len(s.patches) == 0 {
		return 0, ErrFull
	}
	if err = c.writeSpans(s); err == nil {
		err = shard.Guard(func() error { c.enter(s); return nil })
	}
	if err != nil {
		return 0, errors.Join(err, c.commit(reserved))
	}
	c.disk.well()
	if err = c.commit(reserved); len(s.patches) < whole {
		err = errors.Join(ErrFull, err)
	}
	return spanBytes(s.spans), err
}

// reserveFor reserves room on the disk for a segment, which it cuts to the blocks that fit.
func (c *Cache) reserveFor(s *segment) (reserved room, err error) {
	all := room{decoded: s.handle.file.decoded()}
	some := all
	for _, p := range s.patches {
		all.bytes += p.growth(s.handle.file.fileLayout.size, c.unit)
	}
	ok, left, err := c.reserveOrEvict(all)
	if ok || err != nil {
		return all, err
	}
	n := 0
	for _, p := range s.patches {
		growth := p.growth(s.handle.file.fileLayout.size, c.unit)
		if some.bytes+growth > left {
			break
		}
		n, some.bytes = n+1, some.bytes+growth
	}
	if ok, _, err = c.reserve(some); !ok {
		n, some.bytes = 0, 0
	}
	s.cut(n)
	return some, err
}

// growth returns the disk space that a patch needs beyond the run that its block already holds.
func (p patch) growth(size int64, unit int) int64 {
	lo, hi := p.old.run(blockLen(size, p.block))
	return pageBytes(p.lo, p.hi, unit) - pageBytes(lo, hi, unit)
}

func (s *segment) cut(n int) {
	s.patches = s.patches[:n]
	s.spans = nil
	for _, p := range s.patches {
		for _, piece := range p.pieces(s.handle.file.fileLayout.size) {
			s.spans = appendSpan(s.spans, piece)
		}
	}
}

// writeSpans writes the bytes, at most a megabyte with each call: larger writes take the kernel
// longer than as many small ones.
func (c *Cache) writeSpans(s *segment) error {
	x, data := s.handle.file, s.data
	c.diskWrites.start()
	defer c.diskWrites.end(0)
	for _, span := range s.spans {
		if _, err := x.f.WriteAt(data[:span.N], x.fileLayout.data+span.Off); err != nil {
			return err
		}
		data = data[span.N:]
	}
	return nil
}

// enter sums the runs and enters them in the table. A block whose old run went bad meanwhile stays
// as it is.
func (c *Cache) enter(s *segment) {
	x, data := s.handle.file, s.data
	for _, p := range s.patches {
		pieces := p.pieces(x.fileLayout.size)
		left := data[:pieces[0].N]
		right := data[pieces[0].N : pieces[0].N+pieces[1].N]
		data = data[len(left)+len(right):]
		x.swap(p.block, p.old, p.grown(left, right, blockLen(x.fileLayout.size, p.block)))
	}
}

// grown returns the entry of a patch, from the bytes before and after the old run.
func (p patch) grown(left, right []byte, blockLen int) entry {
	sum := crc.Of(left)
	if lo, hi := p.old.run(blockLen); lo < hi {
		sum = crc.Join(sum, p.old.sum(), hi-lo)
	}
	return newEntry(crc.Append(sum, right), p.lo, p.hi)
}
