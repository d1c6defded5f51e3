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

	leastSpace     = blockSize   // less is not worth a fill
	floorEvery     = time.Second // between two looks at the file system's free space
	scanAgain      = time.Second // a full cache is looked at again so often
	scanPauseLeast = 100 * time.Millisecond
	scanShare      = 30                     // and at least so many times what a look takes goes by
	lockWithin     = 200 * time.Millisecond // how long an eviction waits for the directory's lock, which a look at all files holds
	lockPoll       = 5 * time.Millisecond
	excess         = 64          // over the limit by so small a part is what file systems need for themselves; more is another's higher limit
	lowMark        = 90          // eviction goes down to so many percent of the limit
	leftoverTime   = time.Minute // after which what a killed process left is removed
)

// openLock opens the file whose lock a process holds while it removes shard files.
func openLock(root *trusted.Dir) (*os.File, error) {
	return root.OpenFile(lockName, os.O_RDWR|os.O_CREATE)
}

// mayFill says whether a fill has a chance now.
func (c *Cache) mayFill() bool {
	if c.root.ReadOnly() || c.disk.fillsOff() {
		return false
	}
	if time.Now().After(c.usage.scanAfter()) {
		return true
	}
	total, err := c.usage.bytes()
	return err == nil && total+leastSpace <= c.options.Limit && !c.floor.low(c.root.Path(), c.options.MinFree, leastSpace)
}

// reserveOrEvict reserves n bytes on the disk, after an eviction if necessary. If it cannot, it
// reserves nothing and returns what is left.
func (c *Cache) reserveOrEvict(n int64) (ok bool, left int64, err error) {
	for range 2 {
		low := c.floor.low(c.root.Path(), c.options.MinFree, n)
		if !low {
			ok, err := c.usage.reserve(n, c.options.Limit)
			if ok {
				c.floor.take(n)
			}
			if ok || err != nil {
				return ok, 0, err
			}
		}
		again, err := c.evict(n, low)
		if err != nil {
			return false, 0, err
		}
		if !again {
			break
		}
	}
	if c.floor.low(c.root.Path(), c.options.MinFree, n) {
		c.diskLow()
		return false, 0, nil
	}
	total, err := c.usage.bytes()
	return false, max(0, c.options.Limit-total), err
}

// evict removes shards that may go, unless a recent scan found none. Again says that space may be
// free now.
func (c *Cache) evict(n int64, low bool) (again bool, err error) {
	c.evicting.Lock()
	defer c.evicting.Unlock()
	if time.Now().Before(c.usage.scanAfter()) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	if err := lockDir(ctx, c.evictLock); err != nil {
		return false, err
	}
	defer func() { _ = disown(c.evictLock) }()
	if total, err := c.usage.bytes(); err != nil || total+n <= c.options.Limit && !low { // another was here before
		return true, err
	}
	start := time.Now()
	var all []found
	err = c.usage.recount(func() (onDisk int64, err error) {
		all, onDisk, err = walk(c.root, true)
		return onDisk, err
	})
	if err != nil {
		return false, err
	}
	freed, next, err := c.removeSome(all, n, low)
	if freed == 0 && err == nil {
		next = min(next, time.Now().Add(scanAgain).UnixNano())
		next = max(next, time.Now().Add(max(scanPauseLeast, scanShare*time.Since(start))).UnixNano())
		err = c.usage.setScanAfter(time.Unix(0, next))
	}
	c.floor.forget()
	return true, err // the recount alone may have found room
}

// shrink evicts until the directory, filled by another process to a higher limit, is below ours.
func (c *Cache) shrink() error {
	total, err := c.usage.bytes()
	if err != nil || total <= c.options.Limit+c.options.Limit/excess {
		return err
	}
	if err := c.usage.setScanAfter(time.Time{}); err != nil {
		return err
	}
	_, err = c.evict(0, false)
	return err
}

// lockDir takes the directory's lock, which another process keeps while it looks at all files.
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

// removeSome evicts shards that may go until the directory is well below its limit. Next is when
// more may go.
func (c *Cache) removeSome(all []found, n int64, low bool) (freed, next int64, err error) {
	now := time.Now().UnixNano()
	next = now + int64(scanAgain)
	total, err := c.usage.bytes()
	if err != nil {
		return 0, next, err
	}
	target := min(c.options.Limit/100*lowMark, c.options.Limit-n)
	if low {
		target = min(target, total-c.options.Limit/100*(100-lowMark))
	}
	tooMuch := c.options.Limit + c.options.Limit/excess
	idle := false
	for _, f := range inOrder(all) {
		if until := f.until.UnixNano(); c.options.Policy == Keep && until > now && total-freed <= tooMuch {
			next = min(next, until)
			continue
		}
		if total-freed <= target {
			break
		}
		if !idle {
			c.files.closeIdle(0) // what this process itself has open and does not use
			idle = true
		}
		bytes, err := remove(c.root, f.name)
		if errors.Is(err, errBusy) || errors.Is(err, os.ErrNotExist) {
			next = now // it may go as soon as it is idle
			continue
		}
		if notAllowed(err) { // another user's, from when the directory was writable by others
			continue
		}
		if err == nil {
			err = c.usage.removed(bytes)
		}
		if err != nil {
			return freed, next, err
		}
		freed += bytes
		c.evicted.Add(1)
	}
	return freed, next, nil
}

// dropFile removes a file that has a shard's name and is not a whole shard file. A busy file stays,
// and the caller tries again.
func (c *Cache) dropFile(k key) {
	if c.root.ReadOnly() || !c.evicting.TryLock() {
		return
	}
	defer c.evicting.Unlock()
	if own(c.evictLock) != nil {
		return
	}
	defer func() { _ = disown(c.evictLock) }()
	if freed, err := remove(c.root, k.name); err == nil {
		_ = c.usage.removed(freed) // the account is put right at the next look
	}
}

// A floor watches the free space of the file system: it looks now and then, and counts what this
// process takes in between.
type floor struct {
	mu    sync.Mutex
	at    time.Time
	spare int64 // bytes above the floor at the last look, less those taken since
}

// low is whether n bytes more would leave less than a part of the file system free.
func (f *floor) low(dir string, part float64, n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) < floorEvery {
		return f.spare < n
	}
	f.at, f.spare = time.Now(), math.MaxInt64
	disk, err := diskOf(dir)
	if floor := int64(part * float64(disk.total)); err == nil && floor > 0 {
		f.spare = disk.free - floor
	}
	return f.spare < n
}

func (f *floor) take(n int64) {
	f.mu.Lock()
	f.spare -= n
	f.mu.Unlock()
}

func (f *floor) forget() {
	f.mu.Lock()
	f.at = time.Time{}
	f.mu.Unlock()
}
