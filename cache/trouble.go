package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// offFor is how long the cache stays off after the disk failed.
const offFor = 30 * time.Second

// A disk is the state of the cache's disk. After a failure it is not used for a while.
type disk struct {
	noReads, noFills atomic.Int64 // until then, in nanoseconds
	noWaits          atomic.Int64 // until then reads do not wait for it
	said, saidDenied atomic.Bool  // the present trouble was reported
	saidLow          atomic.Bool  // reported, for good: it recurs with each eviction
}

func (d *disk) stuck() bool { return time.Now().UnixNano() < d.noWaits.Load() }
func (d *disk) stick()      { d.noWaits.Store(time.Now().Add(offFor).UnixNano()) }

func (d *disk) readsOff() bool { return time.Now().UnixNano() < d.noReads.Load() }
func (d *disk) fillsOff() bool { return time.Now().UnixNano() < d.noFills.Load() }

// well notes that a fill succeeded: the next failure is a new one.
func (d *disk) well() {
	if d.said.Load() {
		d.said.Store(false)
	}
}

// fileError is diskError for an open file. A file that has changed is opened again, or replaced.
func (c *Cache) fileError(p *handle, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, errStale) || errors.Is(err, shard.ErrChanged) { // it was cut, or a mapping of it faulted
		c.files.forget(p)
		return
	}
	c.diskError(err)
}

// diskError reacts to an error: a full disk can still be read, a failing one is not used.
func (c *Cache) diskError(err error) {
	if err == nil {
		return
	}
	for _, usual := range []error{fs.ErrNotExist, errStale, errBusy, errReadOnly, ErrFull, ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, usual) {
			return
		}
	}
	until := time.Now().Add(offFor).UnixNano()
	said := &c.disk.said
	switch {
	case tooManyFiles(err):
		return
	case notAllowed(err): // usually concerns one file
		said = &c.disk.saidDenied
	case noSpace(err) || errors.Is(err, errUsageCut):
		c.disk.noFills.Store(until)
	default:
		c.disk.noFills.Store(until)
		c.disk.noReads.Store(until)
	}
	if !said.CompareAndSwap(false, true) {
		return
	}
	c.trouble.Add(1)
	if c.options.Events.Trouble != nil {
		c.options.Events.Trouble(fmt.Errorf("cache %s: %w; reads go to the source meanwhile", c.options.Dir, err))
	}
}

// diskLow reports that the disk is full although the limit allows more.
func (c *Cache) diskLow() {
	if c.options.Events.Low == nil || !c.disk.saidLow.CompareAndSwap(false, true) {
		return
	}
	d, err := diskOf(c.root.Path())
	if err != nil {
		return
	}
	c.options.Events.Low(fmt.Errorf("cache %s keeps nothing more: %v of its disk's %v are free, and %.3g%% of them stay so; make room, or take another directory",
		c.options.Dir, mem.Bytes(d.free), mem.Bytes(d.total), c.options.MinFree*100))
}
