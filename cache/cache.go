package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	formatDir = "v1" // below the directory that the user names

	writers    = 4                // enough for disks whose writes wait
	closeFor   = 10 * time.Second // how long Close waits for the disk
	sweepEvery = 10 * time.Second
)

// A Cache is one process's use of a cache directory. Its methods are safe for concurrent use.
type Cache struct {
	options Options
	dir     string // of this format
	unit    int    // bytes of a page on the disk
	id      uint64 // of this Cache's stamps
	keepFor atomic.Int64

	counters
	disk  disk
	usage *usage
	shelf shelf

	blocks  sync.Pool // of *[]byte, a block each
	pool    mem.Pool  // of bytes that wait for the disk
	pending *semaphore.Weighted
	queue   chan *segment

	evicting  sync.Mutex
	evictLock *os.File
	floor     floor
	written   atomic.Int64        // segments that writers came to the end of
	arriving  *semaphore.Weighted // views whose pages come in at a time

	mu      sync.Mutex
	closing bool
	fills   sync.WaitGroup // segments that are queued

	hurry   atomic.Bool    // Close has waited long enough: what is queued is dropped
	stop    chan struct{}  // ends the goroutines
	workers sync.WaitGroup // of the goroutines
	closed  sync.Once
}

// Open opens the cache in o.Dir, which is made if need be. A directory that cannot hold one is an error that wraps ErrUnfit and says why.
// Where the disk is too full to begin with, the error wraps ErrNoRoom.
func Open(o Options) (*Cache, error) {
	c, err := open(o)
	if isNoRoom(err) {
		err = fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return c, err
}

func open(o Options) (*Cache, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	dir, disk, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("cache %s: %w", o.Dir, err)
	}
	c := &Cache{
		options: o, dir: dir, unit: int(min(max(disk.unit, headerPage), blockSize)), id: rand.Uint64(),
		pending: semaphore.NewWeighted(o.Pending),
		queue:   make(chan *segment, o.Pending/smallestPending+1),
		stop:    make(chan struct{}),

		arriving: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
	c.keepFor.Store(int64(o.KeepFor))
	c.blocks.New = func() any { b := make([]byte, blockSize); return &b }
	if c.usage, err = openUsage(dir); err == nil {
		err = c.usage.setLimit(o.Limit)
	}
	if err == nil {
		c.evictLock, err = openLock(dir)
	}
	if err != nil {
		if c.usage != nil {
			c.usage.close()
		}
		return nil, fmt.Errorf("cache %s: %w", o.Dir, err)
	}
	c.shelf = shelf{dir: dir, open: map[string]*place{}, most: maxFiles, users: 1, create: c.create, drop: c.dropFile, end: c.end}
	for range writers {
		c.workers.Go(c.writer)
	}
	c.workers.Go(c.sweeper)
	return c, nil
}

// prepare makes the directory of the format and makes sure that it can hold a cache.
func prepare(o Options) (dir string, disk diskState, err error) {
	there, err := existing(o.Dir)
	if err != nil {
		return "", disk, err
	}
	if dir, err = filepath.Abs(o.Dir); err != nil {
		return "", disk, err
	}
	check := checkFit
	if o.anyFileSystem {
		check = diskOf
	}
	if _, err = check(there); err != nil { // before anything is made
		return "", disk, err
	}
	dir = filepath.Join(dir, formatDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", disk, err
	}
	if disk, err = check(dir); err != nil {
		return "", disk, err
	}
	if err := tag(dir); err != nil {
		return "", disk, err
	}
	return dir, disk, tryOut(dir)
}

// tag marks the directory as one that backups leave out; see https://bford.info/cachedir.
func tag(dir string) error {
	const text = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory holds copies of remote files that shardfeed made.\n"
	path := filepath.Join(dir, "CACHEDIR.TAG")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// sweeper closes files that nobody has used for a while, so that they can be evicted. Open starts it and Close waits for it.
func (c *Cache) sweeper() {
	c.diskError(c.shrink())
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.shelf.closeIdle(idleAfter)
		case <-c.stop:
			return
		}
	}
}

// KeepFor sets how long a shard is kept after a use from now on. A job that knows how long its epochs take gives twice that.
func (c *Cache) KeepFor(d time.Duration) { c.keepFor.Store(int64(max(d, 0))) }

// Stats returns the counts so far.
func (c *Cache) Stats() Stats { return c.stats() }

// stamp is what a use now writes.
func (c *Cache) stamp() stamp {
	now := time.Now()
	return stamp{used: now, until: now.Add(time.Duration(c.keepFor.Load())), by: c.id}
}

// touch stamps a file, once a minute, or as often as the order of uses needs it.
func (c *Cache) touch(x *file) error {
	every := min(time.Minute, time.Duration(c.keepFor.Load())/8)
	if c.options.Policy == LRU {
		every = min(every, time.Second)
	}
	return x.touch(c.stamp(), every)
}

// create makes the file of a key, if there is room for it.
func (c *Cache) create(k key) (*file, error) {
	if !c.mayFill() {
		return nil, ErrFull
	}
	n := layoutOf(k).head()
	if ok, _, err := c.makeRoom(n); err != nil {
		return nil, err
	} else if !ok {
		return nil, ErrFull
	}
	f, err := createFile(c.dir, k, c.stamp())
	if err = errors.Join(err, c.usage.commit(n)); err != nil || f == nil {
		return nil, err
	}
	return newFile(f, k)
}

// Close finishes the fills that wait for the disk, but no longer than 10 s, and closes everything. Reads pass through from then on; what
// views hold is given back with the last of them.
func (c *Cache) Close(ctx context.Context) (err error) {
	c.closed.Do(func() { err = c.close(ctx) })
	return err
}

func (c *Cache) close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.shelf.close()
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the last fill, which hurry sees to
		c.fills.Wait()
		close(c.stop)
		c.workers.Wait()
		c.shelf.leave()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		c.hurry.Store(true)
		hung := time.NewTimer(closeFor)
		defer hung.Stop()
		select {
		case <-ended:
		case <-hung.C:
			return fmt.Errorf("cache %s: closed while a write to its disk hangs", c.options.Dir)
		}
	}
	c.pool.Trim(0)
	return nil
}

// end gives back what all users shared.
func (c *Cache) end() {
	c.usage.close()
	c.evictLock.Close()
}
