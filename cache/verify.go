package cache

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/shard"
)

// stretchBlocks is the number of blocks read before they are verified, while they are in the
// processor's cache.
const stretchBlocks = 8

// A checker reads and verifies held blocks of a file. One goroutine uses it for one read.
type checker struct {
	*file
	cache *Cache

	// The block that was read last and not delivered whole, so that narrow columns that share a
	// block read it once.
	buffer *[]byte // blockSize, or nil
	block  int64
	entry  entry

	wrong bool // a checksum failed

	stretch [stretchBlocks]entry // of the blocks that are read at once
}

func (c *checker) done() {
	if c.buffer != nil {
		c.cache.blocks.Put(c.buffer)
		c.buffer = nil
	}
}

// fill fills the held parts of the ranges and returns the rest. It drops damaged blocks.
func (c *checker) fill(ctx context.Context, ranges []shard.Range) (rest []shard.Range, err error) {
	var missing pieces
	err = shard.Guard(func() error {
		for i, r := range ranges {
			for off := r.Off; off < r.Span().End(); {
				if err := ctx.Err(); err != nil {
					return err
				}
				next, err := c.step(&missing, i, r, off)
				if err != nil {
					return err
				}
				off = next
			}
		}
		return nil
	})
	return missing.list, err
}

// step handles the bytes of a range from off on that need one look at the table, and returns the
// offset after them.
func (c *checker) step(missing *pieces, i int, r shard.Range, off int64) (next int64, err error) {
	end, block := r.Span().End(), off/blockSize
	if n := c.wholeRuns(off, end); n > 0 {
		return c.fillWhole(missing, i, r, off, n)
	}
	e := c.file.entry(block)
	run := c.run(block, e)
	pieceEnd := min(end, (block+1)*blockSize)
	if run.N == 0 || off >= run.End() || pieceEnd <= run.Off {
		missing.add(i, r, off, pieceEnd)
		return pieceEnd, nil
	}
	missing.add(i, r, off, run.Off)
	off, pieceEnd = max(off, run.Off), min(pieceEnd, run.End())
	held, err := c.readRun(block, e, run)
	if err != nil {
		return 0, err
	}
	if held == nil {
		missing.add(i, r, off, pieceEnd)
	} else {
		copy(r.P[off-r.Off:pieceEnd-r.Off], held[off-run.Off:])
	}
	return pieceEnd, nil
}

// wholeRuns counts the blocks from off on whose runs are wanted whole and touch, so that they can
// be read at once in place. It leaves their entries in stretch.
func (c *checker) wholeRuns(off, end int64) (n int) {
	for at := off; at < end && n < stretchBlocks; {
		block := at / blockSize
		e := c.file.entry(block)
		run := c.run(block, e)
		if run.N == 0 || run.Off != at || run.End() > end {
			break
		}
		c.stretch[n] = e
		n++
		if at = run.End(); at != (block+1)*blockSize {
			break
		}
	}
	return n
}

// fillWhole reads the runs of n blocks of a stretch into the range itself.
func (c *checker) fillWhole(missing *pieces, i int, r shard.Range, off int64, n int) (next int64, err error) {
	first := off / blockSize
	next = c.run(first+int64(n-1), c.stretch[n-1]).End()
	if err := c.read(r.P[off-r.Off:next-r.Off], off); err != nil {
		return 0, err
	}
	for k, e := range c.stretch[:n] {
		run := c.run(first+int64(k), e)
		if !c.verify(first+int64(k), e, r.P[run.Off-r.Off:run.End()-r.Off]) {
			missing.add(i, r, run.Off, run.End())
		}
	}
	return next, nil
}

// readRun reads the run of one block into the buffer, or returns nil if its bytes are damaged.
func (c *checker) readRun(block int64, e entry, run shard.Span) ([]byte, error) {
	if c.buffer != nil && c.block == block && c.entry == e {
		return (*c.buffer)[:run.N], nil
	}
	if c.buffer == nil {
		c.buffer = c.cache.blocks.Get().(*[]byte)
	}
	c.entry = 0
	b := (*c.buffer)[:run.N]
	if err := c.read(b, run.Off); err != nil {
		return nil, err
	}
	if !c.verify(block, e, b) {
		return nil, nil
	}
	c.block, c.entry = block, e
	return b, nil
}

// read is readAt, measured.
func (c *checker) read(p []byte, off int64) error {
	c.cache.diskReads.start()
	err := c.readAt(p, off)
	c.cache.diskReads.end(int64(len(p)))
	return err
}

// verify compares the bytes of a run with its entry, and drops the run if they differ.
func (c *checker) verify(block int64, e entry, b []byte) bool {
	if c.cache.options.noVerify || crc.Of(b) == e.sum() {
		return true
	}
	if c.damage(block, e) {
		c.cache.bad.Add(1)
		c.wrong = true
	}
	return false
}
