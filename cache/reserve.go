package cache

import (
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

const (
	lockName = "evict.lock"

	leastSpace = blockSize   // less is not worth a fill
	floorEvery = time.Second // between two looks at the file system's free space

	lockWithin = 200 * time.Millisecond // how long an eviction waits for the directory's lock, which a scan of all files holds
	lockPoll   = 5 * time.Millisecond
)

// openLock opens the file whose lock a process holds while it removes shard files.
func openLock(root *trusted.Dir) (*os.File, error) {
	return root.OpenFile(lockName, os.O_RDWR|os.O_CREATE)
}

// DecodedLimit returns Options.DecodedLimit.
func (c *Cache) DecodedLimit() int64 { return c.options.DecodedLimit }

// Limit returns Options.Limit.
func (c *Cache) Limit() int64 { return c.options.Limit }

// DiskBytes returns the bytes that all processes keep or are about to keep in the directory,
// without a look at its files. It is 0 if the directory is read-only.
func (c *Cache) DiskBytes() int64 {
	if c.usage == nil {
		return 0
	}
	n, err := c.usage.bytes()
	if err != nil { // the account is damaged, and about to be counted again
		return 0
	}
	return n
}

// limit returns the most that files may take.
func (c *Cache) limit() amount { return amount{c.options.Limit, c.options.DecodedLimit} }

// mayFill reports whether a fill has a chance now.
func (c *Cache) mayFill() bool { return c.mayTake(room{bytes: leastSpace}) }

// mayTake reports whether a reservation has a chance now.
func (c *Cache) mayTake(r room) bool {
	if c.root.ReadOnly() || c.disk.fillsOff() || r.decoded && r.bytes > c.options.DecodedLimit {
		return false
	}
	if time.Now().After(c.usage.scanAfter(r.decoded)) {
		return true
	}
	left, err := c.left(r.decoded)
	return err == nil && r.bytes <= left && !c.floor.low(c.root.Path(), c.options.MinFree, r.bytes)
}

// left returns the bytes that may still be taken.
func (c *Cache) left(decoded bool) (int64, error) {
	taken, err := c.usage.amount()
	left := c.options.Limit - taken.all
	if decoded {
		left = min(left, c.options.DecodedLimit-taken.decoded)
	}
	return left, err
}

// reserveOrEvict reserves room on the disk, after an eviction if necessary. If it cannot, it
// reserves nothing and returns how many bytes are left.
func (c *Cache) reserveOrEvict(r room) (ok bool, left int64, err error) {
	for range 2 {
		ok, low, err := c.reserve(r)
		if ok || err != nil {
			return ok, 0, err
		}
		again, err := c.evict(r, low)
		if err != nil {
			return false, 0, err
		}
		if !again {
			break
		}
	}
	if c.floor.low(c.root.Path(), c.options.MinFree, r.bytes) {
		if !r.decoded { // shards may still evict decoded bytes
			c.diskLow()
		}
		return false, 0, nil
	}
	left, err = c.left(r.decoded)
	return false, max(0, left), err
}

// reserve reserves room on the disk if it can. low reports that the disk lacks it, not the limit.
func (c *Cache) reserve(r room) (ok, low bool, err error) {
	if !c.floor.take(c.root.Path(), c.options.MinFree, r.bytes) {
		return false, true, nil
	}
	if ok, err = c.usage.reserve(r, c.limit()); !ok {
		c.floor.giveBack(r.bytes)
	}
	return ok, false, err
}

// commit ends a reservation whose bytes are on the disk, or will not be.
func (c *Cache) commit(r room) error {
	c.floor.wrote(r.bytes)
	return c.usage.commit(r)
}

// lockDir takes the directory's lock, which another process keeps while it scans all files.
func lockDir(ctx context.Context, lock *os.File) error {
	for {
		if err := own(lock); !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dropFile removes a file with a shard's name that is not a whole shard file. While another process
// evicts, the file stays, and the caller tries again.
func (c *Cache) dropFile(k key) {
	if c.root.ReadOnly() || !c.evicting.TryLock() {
		return
	}
	defer c.evicting.Unlock()
	if own(c.evictLock) != nil {
		return
	}
	defer func() { _ = disown(c.evictLock) }()
	if freed, err := removeStale(c.root, k); err == nil {
		_ = c.usage.removed(room{freed, k.decoded()}) // the next recount corrects the account
	}
}

// A floor watches the free space of the file system: it checks now and then, and counts what this
// process takes in between.
type floor struct {
	mu    sync.Mutex
	at    time.Time
	spare int64 // bytes above the floor at the last check, less the bytes taken since
	taken int64 // bytes that are not on the disk yet, which a check counts as free
}

// low reports whether n bytes more would leave less than the given part of the file system free.
func (f *floor) low(dir string, part float64, n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lowLocked(dir, part, n)
}

func (f *floor) lowLocked(dir string, part float64, n int64) bool {
	if time.Since(f.at) < floorEvery {
		return f.spare < n
	}
	f.at, f.spare = time.Now(), math.MaxInt64/2
	disk, err := diskOf(dir)
	if floor := int64(part * float64(disk.total)); err == nil && floor > 0 {
		f.spare = disk.free - floor - f.taken
	}
	return f.spare < n
}

// take takes n bytes, unless the disk is low.
func (f *floor) take(dir string, part float64, n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lowLocked(dir, part, n) {
		return false
	}
	f.spare, f.taken = f.spare-n, f.taken+n
	return true
}

func (f *floor) giveBack(n int64) {
	f.mu.Lock()
	f.spare, f.taken = f.spare+n, f.taken-n
	f.mu.Unlock()
}

// wrote records that n taken bytes are on the disk.
func (f *floor) wrote(n int64) {
	f.mu.Lock()
	f.taken -= n
	f.mu.Unlock()
}

func (f *floor) forget() {
	f.mu.Lock()
	f.at = time.Time{}
	f.mu.Unlock()
}
