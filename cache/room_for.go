package cache

import (
	"context"
	"errors"
	"io/fs"

	"github.com/shardfeed/shardfeed/shard"
)

// A RoomFor reports how much of some shards the cache can take.
type RoomFor struct {
	Free  int64 // bytes that it can still keep of them: what is free, and what may be evicted for them
	Files int64 // bytes of their files, which other columns share
}

// RoomFor looks at all files, and counts those of the shards as used now, so that others go first.
func (c *Cache) RoomFor(inner shard.Store, shards []shard.Shard) (r RoomFor, err error) {
	if c.root.ReadOnly() {
		return r, nil
	}
	ours := map[string]bool{}
	for _, s := range shards {
		k, ok := keyOf(inner, s)
		if !ok {
			continue
		}
		ours[k.name] = true
		if err := c.use(k); err != nil {
			return r, err
		}
	}
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
			r.Files += f.allocated
		case e.may(f):
			evictable += f.allocated
		}
	}
	r.Free = c.options.Limit - onDisk.all + evictable
	if disk, err := diskOf(c.root.Path()); err == nil {
		r.Free = min(r.Free, disk.free-int64(c.options.MinFree*float64(disk.total))+evictable)
	}
	r.Free = max(0, r.Free)
	return r, nil
}

// use stamps the file of a key as used now, if there is one.
func (c *Cache) use(k key) error {
	p, err := c.files.acquire(context.Background(), k, false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errStale) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.files.release(p)
	return p.file.touch(c.stamp(), 0)
}
