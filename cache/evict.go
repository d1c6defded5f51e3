package cache

import (
	"context"
	"errors"
	"math"
	"os"
	"time"
)

const (
	scanAgain      = time.Second // least time between two scans of a full cache
	scanPauseLeast = 100 * time.Millisecond
	scanShare      = 30 // and as a multiple of the time that a scan takes

	excess       = 64          // the part of the limit that file systems may need for themselves; more means that another process has a higher limit
	lowMark      = 90          // percent of the limit that eviction frees down to
	leftoverTime = time.Minute // after which leftovers of killed processes are removed
)

// evict removes evictable files to make room, unless a recent scan found nothing. low means that
// the file system lacks the room, not the limit. again reports that space may be free now.
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
	if left, err := c.left(r.decoded); err != nil || r.bytes <= left && !low { // another process evicted meanwhile
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
	return true, err // even without evictions the recount may have found room
}

// shrink evicts until a directory that another process filled to a higher limit is below ours.
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
	room  room // to make
	now   int64

	left   amount // on the disk
	target amount // to leave on the disk
	freed  int64
	next   int64 // when more files become evictable
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

// run removes evictable files, in the order of eviction.
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

// may reports whether a file may be evicted. The policy decides for shards; decoded bytes only
// evict superseded ones. Shards may evict any decoded bytes; other decoded bytes may if their time
// is over or another version is in use. Wanted shards stay.
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
		c.files.closeIdle(0) // closes files that this process has open and does not use
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
