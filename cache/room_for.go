package cache

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// Wanted names bytes of a shard to keep.
type Wanted struct {
	Shard shard.Shard
	Spans []shard.Span
}

// A RoomFor reports how much of some shards the cache can take.
type RoomFor struct {
	Free  int64 // bytes that it can still keep of them: free ones and evictable ones; below 0 over the limit
	Bytes int64 // that their files hold

	spare []wantedFile // may lose unwanted bytes, least recently used first; see Trim
}

// A wantedFile is the file of a shard and the wanted bytes of the shard.
type wantedFile struct {
	key
	spans []shard.Span
}

// RoomFor scans all files, and counts the shards as used now, so that others are evicted first.
// From then on this Cache does not evict these shards.
func (c *Cache) RoomFor(inner shard.Store, wanted []Wanted) (r RoomFor, err error) {
	if c.root.ReadOnly() {
		return r, nil
	}
	ours, spare, heads := map[string]bool{}, map[string]wantedFile{}, map[string]int64{}
	for _, w := range wanted {
		k, ok := keyOf(inner, w.Shard)
		if !ok {
			continue
		}
		ours[k.name], heads[k.name] = true, fileLayoutOf(k).head()
		over, err := c.use(k)
		if err != nil {
			return r, err
		}
		if over || c.options.Policy == LRU {
			spans, err := newObject(c, inner, w.Shard, k).normal(append(w.Spans, spare[k.name].spans...))
			if err != nil {
				return r, err
			}
			spare[k.name] = wantedFile{k, spans}
		}
	}
	c.setWanted(ours)
	all, onDisk, err := walk(c.root, false)
	if err != nil {
		return r, err
	}
	e, err := c.newEviction(room{}, false)
	if err != nil {
		return r, err
	}
	evictable := int64(0)
	for _, f := range inOrder(all) {
		switch {
		case ours[f.name]:
			r.Bytes += f.allocated - heads[f.name]
			if w, ok := spare[f.name]; ok {
				r.spare = append(r.spare, w)
			}
		case e.may(f):
			evictable += f.allocated
		}
	}
	r.Free = c.options.Limit - onDisk.all + evictable
	if disk, err := diskOf(c.root.Path()); err == nil {
		r.Free = min(r.Free, disk.free-int64(c.options.MinFree*float64(disk.total))+evictable)
	}
	return r, nil
}

// setWanted names the files that evictions skip.
func (c *Cache) setWanted(names map[string]bool) {
	c.evicting.Lock()
	defer c.evicting.Unlock()
	c.wanted = names
}

func (c *Cache) isWanted(name string) bool {
	c.evicting.Lock()
	defer c.evicting.Unlock()
	return c.wanted[name]
}

// use stamps the file of a key as used now, if there is one, and reports whether its time was over.
func (c *Cache) use(k key) (over bool, err error) {
	p, err := c.files.acquire(context.Background(), k, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer c.files.release(p)
	err = shard.Guard(func() error {
		over = !stampOf(p.file.head[:namesAt]).until.After(time.Now())
		return nil
	})
	if err != nil {
		return false, err
	}
	return over, p.file.touch(c.stamp(), 0)
}
