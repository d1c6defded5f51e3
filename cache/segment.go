package cache

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// segmentBlocks is the most blocks of a segment, which are claimed, locked, written and released
// together. Segments do not cross multiples of it.
const segmentBlocks = 16

const segmentBytes = segmentBlocks * blockSize

// A segment is a run of blocks that this process is about to fill, with the bytes to fill in. Two
// steps decide who fills a block. Within the process, file.segments holds each block in at most one
// segment. Between processes, the segment's entries in the table are locked; the lock belongs to
// the open file description, which all goroutines share, and their segments are disjoint. Neither
// step ever waits: a block that another reader has is left to that reader. So a reader that waits
// holds nothing that another could wait for, except pending segments, which the writers complete.
type segment struct {
	handle     *handle // the segment is one of its users
	first, end int64   // blocks

	patches []patch
	spans   []shard.Span // what is fetched for the patches
	data    []byte       // the bytes of spans, on their way to the disk

	came atomic.Int64  // when all bytes were fetched, by wait.Now; 0: not yet
	done chan struct{} // closed when the segment is settled
	err  error         // why its bytes are not on the disk; set before done
}

// A patch grows one block's run to [lo, hi), which includes the held run.
type patch struct {
	block  int64
	old    entry
	lo, hi int
}

// A need is the shortest run of a block that holds all its wanted bytes.
type need struct {
	block  int64
	lo, hi int
}

// needsOf returns the bytes of spans by block, ascending.
func needsOf(spans []shard.Span) (needs []need) {
	for _, s := range spans {
		for off := s.Off; off < s.End(); {
			block := off / blockSize
			end := min(s.End(), (block+1)*blockSize)
			lo, hi := int(off-block*blockSize), int(end-block*blockSize)
			if n := len(needs); n > 0 && needs[n-1].block == block {
				needs[n-1].hi = hi
			} else {
				needs = append(needs, need{block, lo, hi})
			}
			off = end
		}
	}
	return needs
}

// hulls returns the runs of blocks that hold all bytes of spans. Touching ones are joined.
func hulls(spans []shard.Span) (all []shard.Span) {
	for _, n := range needsOf(spans) {
		all = appendSpan(all, shard.Span{Off: n.block*blockSize + int64(n.lo), N: int64(n.hi - n.lo)})
	}
	return all
}

// patch returns how a block's run grows to hold n; ok is false if it already does.
func (n need) patch(old entry, size int64) (p patch, ok bool) {
	p = patch{block: n.block, old: old, lo: n.lo, hi: n.hi}
	if lo, hi := old.run(blockLen(size, n.block)); lo < hi {
		p.lo, p.hi = min(lo, n.lo), max(hi, n.hi)
		return p, p.lo < lo || p.hi > hi
	}
	return p, true
}

// A claim lists the segments that a read may fill now, and the ones that it has to wait for.
type claim struct {
	mine    []*segment // locked, and not yet held
	others  []*segment // of other goroutines
	foreign bool       // other processes have some
}

// came returns when the bytes of the first other segment were fetched: until then its reader waits
// for the store, and then for the disk. 0 is not yet, or unknown, as of another process.
func (c *claim) came() int64 {
	if len(c.others) == 0 {
		return 0
	}
	return c.others[0].came.Load()
}

// claimAll claims and locks as many of the missing blocks as it can. It leaves out blocks that are
// held by now.
func (c *Cache) claimAll(p *handle, missing []shard.Span) (*claim, error) {
	needs := needsOf(missing)
	got := p.file.claim(needs)
	free := got.mine
	got.mine = nil
	for i, s := range free {
		c.files.again(p)
		s.handle = p
		locked, err := c.lock(s, got)
		if err != nil {
			c.abandon(locked, err)
		} else {
			err = c.plan(locked, needs, got)
		}
		if err != nil {
			c.abandon(got.mine, err)
			for _, rest := range free[i+1:] {
				p.file.unclaim(rest)
			}
			return nil, err
		}
	}
	return got, nil
}

// claim takes the blocks that no goroutine has claimed.
func (x *file) claim(needs []need) *claim {
	x.mu.Lock()
	defer x.mu.Unlock()
	got := &claim{}
	for _, n := range needs {
		if other := x.segments[n.block]; other != nil {
			if k := len(got.others); k == 0 || got.others[k-1] != other {
				got.others = append(got.others, other)
			}
			continue
		}
		got.mine = x.extendLocked(got.mine, n.block)
	}
	return got
}

// filling returns the segments of a span's blocks.
func (x *file) filling(span shard.Span) (all []*segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for block := span.Off / blockSize; block*blockSize < span.End(); block++ {
		if s := x.segments[block]; s != nil && (len(all) == 0 || all[len(all)-1] != s) {
			all = append(all, s)
		}
	}
	return all
}

// extendLocked adds a block to the last segment, or to a new one.
func (x *file) extendLocked(segments []*segment, block int64) []*segment {
	if k := len(segments); k > 0 && segments[k-1].end == block && block%segmentBlocks != 0 {
		segments[k-1].end++
		x.segments[block] = segments[k-1]
		return segments
	}
	s := &segment{first: block, end: block + 1, done: make(chan struct{})}
	x.segments[block] = s
	return append(segments, s)
}

// unclaim releases the blocks of a segment and wakes its waiters.
func (x *file) unclaim(s *segment) {
	x.mu.Lock()
	for b := s.first; b < s.end; b++ {
		if x.segments[b] == s {
			delete(x.segments, b)
		}
	}
	x.mu.Unlock()
	close(s.done)
}

// slots returns the range of the file with the entries of a segment.
func (s *segment) slots() (off, n int64) {
	return s.handle.file.fileLayout.header + 8*s.first, 8 * (s.end - s.first)
}

// lock locks a segment between processes, or the parts of it that no other process holds.
func (c *Cache) lock(s *segment, got *claim) (locked []*segment, err error) {
	x := s.handle.file
	off, n := s.slots()
	err = lockRange(x.f, off, n)
	if err == nil {
		return []*segment{s}, nil
	}
	if errors.Is(err, errBusy) {
		locked, err = c.lockParts(s, got)
	}
	x.unclaim(s)
	c.files.release(s.handle)
	return locked, err
}

// lockParts locks a segment block by block; each part is a segment of its own.
func (c *Cache) lockParts(s *segment, got *claim) (locked []*segment, err error) {
	x := s.handle.file
	for b := s.first; b < s.end; b++ {
		part := &segment{handle: s.handle, first: b, end: b + 1, done: make(chan struct{})}
		off, n := part.slots()
		switch err := lockRange(x.f, off, n); {
		case errors.Is(err, errBusy):
			got.foreign = true
			continue
		case err != nil:
			return locked, err
		}
		c.files.again(s.handle)
		x.mu.Lock()
		x.segments[b] = part
		x.mu.Unlock()
		locked = append(locked, part)
	}
	return locked, nil
}

// plan computes how the blocks of locked segments grow. It settles segments that need nothing.
func (c *Cache) plan(locked []*segment, needs []need, got *claim) error {
	for i, s := range locked {
		err := shard.Guard(func() error { s.plan(needs); return nil })
		switch {
		case err != nil:
			c.abandon(locked[i:], err)
			return err
		case len(s.patches) == 0:
			c.settle(s, nil)
		default:
			got.mine = append(got.mine, s)
		}
	}
	return nil
}

func (s *segment) plan(needs []need) {
	x := s.handle.file
	first, _ := slices.BinarySearchFunc(needs, s.first, func(n need, block int64) int { return cmp.Compare(n.block, block) })
	for _, n := range needs[first:] {
		if n.block >= s.end {
			break
		}
		old := x.entry(n.block)
		if x.decoded() && !old.startsBlock() { // not written by a writer of decoded bytes
			x.damage(n.block, old)
			old = 0
		}
		p, ok := n.patch(old, x.fileLayout.size)
		if !ok {
			continue
		}
		s.patches = append(s.patches, p)
		for _, piece := range p.pieces(x.fileLayout.size) {
			s.spans = appendSpan(s.spans, piece)
		}
	}
}

// pieces returns the bytes of a patch that are not held: before the held run, and after.
func (p patch) pieces(size int64) [2]shard.Span {
	base := p.block * blockSize
	lo, hi := p.old.run(blockLen(size, p.block))
	if lo == hi {
		lo, hi = p.hi, p.hi
	}
	return [2]shard.Span{{Off: base + int64(p.lo), N: int64(lo - p.lo)}, {Off: base + int64(hi), N: int64(p.hi - hi)}}
}

// settle ends a segment: its bytes are on the disk, or err gives the reason. It ends its use of the
// file before it wakes its waiters.
func (c *Cache) settle(s *segment, err error) {
	s.err = err
	x := s.handle.file
	off, n := s.slots()
	_ = unlockRange(x.f, off, n) // if this fails, closing the file frees the lock
	c.files.release(s.handle)
	x.unclaim(s)
}

func (c *Cache) abandon(segments []*segment, err error) {
	for _, s := range segments {
		c.settle(s, err)
	}
}
