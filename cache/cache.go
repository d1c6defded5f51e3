package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/trusted"
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
	root    *trusted.Dir // of this format
	unit    int          // bytes of a page on the disk
	id      uint64       // of this Cache's stamps
	keepFor atomic.Int64

	counters
	disk  disk
	usage *usage
	files openFiles

	blocks  sync.Pool // of *[]byte, a block each
	pool    mem.Pool  // of bytes that wait for the disk
	pending *semaphore.Weighted
	queue   chan *segment

	evicting  sync.Mutex
	wanted    map[string]bool // files that RoomFor was asked about; guarded by evicting
	evictLock *os.File
	floor     floor
	written   atomic.Int64        // segments that writers have finished
	arriving  *semaphore.Weighted // limits the leases whose pages are brought in at a time

	mu      sync.Mutex
	closing bool
	fills   sync.WaitGroup // segments that are queued

	hurry   atomic.Bool    // Close has waited long enough: queued segments are dropped
	stop    chan struct{}  // ends the goroutines
	workers sync.WaitGroup // of the goroutines
	closed  sync.Once
}

// Open opens the cache in o.Dir and makes the directory if need be. The error wraps ErrUnfit if the
// directory cannot hold a cache, and ErrNoRoom if the disk is too full to start one. Open refuses a
// directory that another user could have written. It reads a directory that this process cannot
// write and never writes it; see Events.ReadOnly.
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
	root, disk, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("cache %s: %w", o.Dir, err)
	}
	c := &Cache{
		options: o, root: root, unit: int(min(max(disk.unit, headerPage), blockSize)), id: rand.Uint64(),
		pending: semaphore.NewWeighted(o.Pending),
		queue:   make(chan *segment, o.Pending/smallestPending+1),
		stop:    make(chan struct{}),

		arriving: semaphore.NewWeighted(int64(cores.Number())),
	}
	c.keepFor.Store(int64(o.KeepFor))
	c.blocks.New = func() any { b := make([]byte, blockSize); return &b }
	if err := c.openShared(); err != nil {
		c.end()
		return nil, fmt.Errorf("cache %s: %w", o.Dir, err)
	}
	most, long := boundFiles(openLimit())
	c.files = openFiles{root: root, open: map[string]*handle{}, most: most, long: long, users: 1, create: c.create, drop: c.dropFile, end: c.end}
	for range writers {
		c.workers.Go(c.writer)
	}
	c.workers.Go(c.sweeper)
	return c, nil
}

// openShared opens what all processes share. A read-only cache has neither an account nor
// evictions.
func (c *Cache) openShared() (err error) {
	if c.root.ReadOnly() {
		if c.options.Events.ReadOnly != nil {
			c.options.Events.ReadOnly(fmt.Errorf("cache %s: %w: what it holds is read, and nothing is added", c.options.Dir, errReadOnly))
		}
		return nil
	}
	if c.usage, err = openUsage(c.root); err != nil {
		return err
	}
	if err := c.usage.setLimit(c.options.Limit); err != nil {
		return err
	}
	c.evictLock, err = openLock(c.root)
	return err
}

var errReadOnly = errors.New("the directory is read-only")

// prepare makes the directory of the format and checks that it can hold a cache.
func prepare(o Options) (root *trusted.Dir, disk diskState, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, disk, err
	}
	check := checkFit
	if o.anyFileSystem {
		check = diskNear
	}
	if _, err = check(dir); err != nil { // before anything is made
		return nil, disk, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, disk, err
	}
	if root, err = trusted.Create(filepath.Join(dir, formatDir)); err != nil {
		return nil, disk, err
	}
	disk, err = check(root.Path())
	if err == nil && !root.ReadOnly() {
		if err = tag(root); err == nil {
			err = tryOut(root)
		}
	}
	if err != nil {
		return nil, disk, errors.Join(err, root.Close())
	}
	return root, disk, nil
}

// tag marks the directory as one that backups leave out; see https://bford.info/cachedir.
func tag(root *trusted.Dir) error {
	const text = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory holds copies of remote files that shardfeed made.\n"
	f, err := root.OpenFile("CACHEDIR.TAG", os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// sweeper closes files that have been idle for a while, so that they can be evicted. Open starts it
// and Close waits for it.
func (c *Cache) sweeper() {
	if !c.root.ReadOnly() {
		c.diskError(c.shrink())
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.files.closeIdle(idleAfter)
		case <-c.stop:
			return
		}
	}
}

// KeepFor sets how long a shard is kept after its next uses. A job that knows how long its epochs
// take sets twice that.
func (c *Cache) KeepFor(d time.Duration) { c.keepFor.Store(int64(max(d, 0))) }

// KeepForEpochs is KeepFor of twice the longest epoch, or Options.KeepFor if that is longer.
func (c *Cache) KeepForEpochs(longest time.Duration) { c.KeepFor(max(c.options.KeepFor, 2*longest)) }

func (c *Cache) stamp() stamp {
	now := time.Now()
	return stamp{used: now, until: now.Add(time.Duration(c.keepFor.Load())), by: c.id}
}

// touch stamps a file, once a minute, or as often as the order of uses needs it.
func (c *Cache) touch(x *file) error {
	if c.root.ReadOnly() {
		return nil
	}
	every := min(time.Minute, time.Duration(c.keepFor.Load())/8)
	if c.options.Policy == LRU {
		every = min(every, time.Second)
	}
	return x.touch(c.stamp(), every)
}

// create makes the file of a key if the limit allows it.
func (c *Cache) create(k key) (*file, error) {
	if c.root.ReadOnly() {
		return nil, errReadOnly
	}
	r := room{fileLayoutOf(k).head(), k.decoded()}
	if !c.mayTake(room{max(r.bytes, leastSpace), r.decoded}) {
		return nil, ErrFull
	}
	if ok, _, err := c.reserveOrEvict(r); err != nil {
		return nil, err
	} else if !ok {
		return nil, ErrFull
	}
	f, err := createFile(c.root, k, c.stamp())
	if err = errors.Join(err, c.commit(r)); err != nil || f == nil {
		return nil, err
	}
	return newFile(f, k, false)
}

// Close waits for pending fills, at most 10 s, and closes everything. Later reads go to the source.
// Leases stay valid until they are released.
func (c *Cache) Close(ctx context.Context) (err error) {
	c.closed.Do(func() { err = c.close(ctx) })
	return err
}

func (c *Cache) close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.files.close()
	ctx, cancel := context.WithTimeout(ctx, closeFor)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the last fill, which hurry sees to
		c.fills.Wait()
		close(c.stop)
		c.workers.Wait()
		c.files.leave()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		c.hurry.Store(true)
		select {
		case <-ended:
		case <-time.After(closeFor):
			return fmt.Errorf("cache %s: closed while a write to its disk hangs", c.options.Dir)
		}
	}
	c.pool.Trim(0)
	return nil
}

// end closes what all users share.
func (c *Cache) end() {
	if c.usage != nil {
		c.usage.close()
	}
	if c.evictLock != nil {
		c.evictLock.Close()
	}
	_ = c.root.Close()
}
