package cache

import (
	"context"
	"errors"
	"math"
	"os"
	"time"
)

const (
	scanAgain      = time.Second // a full cache is looked at again so often
	scanPauseLeast = 100 * time.Millisecond
	scanShare      = 30 // and at least so many times what a look takes goes by

	excess       = 64          // over the limit by so small a part is what file systems need for themselves; more is another's higher limit
	lowMark      = 90          // eviction goes down to so many percent of the limit
	leftoverTime = time.Minute // after which what a killed process left is removed
)

// evict removes files that may go for some room, unless a recent scan found none. Low says that the
// file system lacks the room, not the limit. Again says that space may be free now.
func (c *Cache) evict(r room, low bool) (again bool, err error) {
	c.evicting.Lock()
	defer c.evicting.Unlock()
	if time.Now().Before(c.usage.scanAfter(r.decoded)) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	if err := lockDir(ctx, c.evictLock); err != nil {
		return false, err
	}
	defer func() { _ = disown(c.evictLock) }()
	if left, err := c.left(r.decoded); err != nil || r.bytes <= left && !low { // another was here before
		return true, err
	}
	start := time.Now()
	var all []found
	err = c.usage.recount(func() (onDisk amount, err error) {
		all, onDisk, err = walk(c.root, true)
		return onDisk, err
	})
	if err != nil {
		return false, err
	}
	e, err := c.newEviction(r, low)
	if err == nil {
		err = e.run(inOrder(all))
	}
	if err == nil && e.freed == 0 {
		next := min(e.next, time.Now().Add(scanAgain).UnixNano())
		next = max(next, time.Now().Add(max(scanPauseLeast, scanShare*time.Since(start))).UnixNano())
		err = c.usage.setScanAfter(r.decoded, time.Unix(0, next))
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
	if err := c.usage.setScanAfter(false, time.Time{}); err != nil {
		return err
	}
	_, err = c.evict(room{}, false)
	return err
}

// An eviction removes files until the directory is well below its limits. The caller holds the
// directory's lock.
type eviction struct {
	cache *Cache
	room  room // what it is for
	now   int64

	left   amount // what is on the disk
	target amount // what is to be left
	freed  int64
	next   int64 // when more may go
	idle   bool  // this process has closed the files that it does not use
}

func (c *Cache) newEviction(r room, low bool) (*eviction, error) {
	now := time.Now().UnixNano()
	e := &eviction{cache: c, room: r, now: now, next: now + int64(scanAgain)}
	var err error
	if e.left, err = c.usage.amount(); err != nil {
		return nil, err
	}
	limit := c.limit()
	e.target = amount{all: min(limit.all/100*lowMark, limit.all-r.bytes), decoded: math.MaxInt64}
	if r.decoded {
		e.target.decoded = min(limit.decoded/100*lowMark, limit.decoded-r.bytes)
	}
	if low {
		e.target.all = min(e.target.all, e.left.all-limit.all/100*(100-lowMark))
	}
	return e, nil
}

// run removes what may go, in the order of eviction.
func (e *eviction) run(all []found) error {
	for _, f := range all {
		if !e.may(f) {
			if until := f.until.UnixNano(); until > e.now {
				e.next = min(e.next, until)
			}
			continue
		}
		if e.left.all <= e.target.all && e.left.decoded <= e.target.decoded {
			break
		}
		if err := e.remove(f); err != nil {
			return err
		}
	}
	return nil
}

// may says whether a file may go. Shards go by the policy, and never for decoded bytes, unless they
// are superseded. Decoded bytes go at any time for those of shards, and for other decoded bytes
// when their time is over or another version is in use. Wanted shards stay.
func (e *eviction) may(f found) bool {
	if e.cache.wanted[f.name] {
		return false
	}
	over := f.until.UnixNano() <= e.now
	if f.decoded {
		return over || f.superseded || !e.room.decoded
	}
	if e.room.decoded && (!f.superseded || e.left.all <= e.target.all) {
		return false
	}
	limit := e.cache.options.Limit
	return over || e.cache.options.Policy == LRU || e.left.all > limit+limit/excess
}

// remove removes a file, unless it is in use.
func (e *eviction) remove(f found) error {
	c := e.cache
	if !e.idle {
		c.files.closeIdle(0) // what this process itself has open and does not use
		e.idle = true
	}
	bytes, err := remove(c.root, f.name)
	switch {
	case errors.Is(err, errBusy) || errors.Is(err, os.ErrNotExist):
		e.next = e.now // it may go as soon as it is idle
		return nil
	case notAllowed(err): // another user's, from when the directory was writable by others
		return nil
	case err != nil:
		return err
	}
	r := room{bytes, f.decoded}
	e.freed += bytes
	e.left.add(room{-bytes, f.decoded})
	c.evicted.Add(1)
	return c.usage.removed(r)
}
