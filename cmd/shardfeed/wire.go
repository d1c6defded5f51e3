package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
)

const (
	leastPending = 8 << 20  // bytes that wait for the cache's disk, at least
	mostPending  = 64 << 20 // and at most
	pendingPart  = 16       // of a rank's memory

	finishFills = 10 * time.Second       // for fills that wait for the disk when a verb ends
	dropFills   = 500 * time.Millisecond // after an interrupt
)

// A source is where a verb's shards come from. It is closed after everything that was opened from it.
type source struct {
	shard.Stores              // as a run sees them: what is far comes through the cache
	direct       shard.Stores // the drivers alone
	cache        *cache.Cache // nil: none
	dir          string       // of the cache
	pending      int64        // bytes that may wait for the cache's disk
}

// connect is the one place where stores are chosen and what lies around them: a driver for each scheme, and around those of servers the disk
// cache, where one is wanted, the addresses need it and this machine has a place for it. Nothing is asked of a server yet.
func (a *app) connect(f *flags, addresses []string, shown *opening) (*source, error) {
	drivers, err := f.stores()
	if err != nil {
		return nil, err
	}
	drivers.S3.Events.Listed = shown.listed
	drivers.HDFS.Events.Listed = shown.listed
	drivers.HDFS.Events.Warn = func(text string) { a.note("%s", text) }
	s := &source{direct: all.Stores(drivers)}
	s.Stores = s.direct
	if f.noCache || !anyFar(addresses) {
		return s, nil
	}
	s.dir = f.root()
	if s.cache, err = a.openCache(f, s.dir); err != nil {
		return nil, errors.Join(err, s.direct.Close())
	}
	if s.cache != nil {
		s.Stores, s.pending = wrapFar(s.direct, s.cache), f.pending()
	}
	return s, nil
}

// wrapFar puts the cache around the stores of servers, around each once though several schemes share it.
func wrapFar(stores shard.Stores, c *cache.Cache) shard.Stores {
	wrapped := maps.Clone(stores)
	around := map[shard.Store]shard.Store{}
	for scheme, store := range stores {
		if !farScheme(scheme) {
			continue
		}
		if around[store] == nil {
			around[store] = c.Wrap(store)
		}
		wrapped[scheme] = around[store]
	}
	return wrapped
}

// openCache opens the cache in dir, or returns nil where this machine has no place for one and nobody named a place.
func (a *app) openCache(f *flags, dir string) (*cache.Cache, error) {
	if dir == "" {
		if f.cacheNeeded {
			return nil, fmt.Errorf("there is no place for a cache: neither %s nor HOME is set (--cache-dir names a directory on a local disk)", dirVariable)
		}
		a.note("going on without a cache on disk: neither %s nor HOME is set", dirVariable)
		return nil, nil
	}
	limit, err := f.limitIn(dir)
	if err == nil {
		var c *cache.Cache
		c, err = cache.Open(cache.Options{
			Dir: dir, Limit: limit, Policy: f.policy(), Pending: f.pending(),
			Events: cache.Events{Trouble: func(err error) { a.note("the cache on disk was off for a while: %v", err) }},
		})
		if err == nil {
			return c, nil
		}
	}
	if f.cacheDir != "" || f.cacheNeeded {
		return nil, err
	}
	a.note("going on without a cache on disk: %v", err)
	return nil, nil
}

// pending is how many bytes may wait for the cache's disk; they are a part of the stream's memory.
func (f *flags) pending() int64 {
	memory := int64(f.memory)
	if memory == 0 {
		memory = mem.DefaultLimit()
	}
	return min(max(memory/pendingPart, leastPending), mostPending)
}

// close finishes what waits for the cache's disk, or drops it after an interrupt, and closes the connections.
func (s *source) close(ctx context.Context) error {
	patience := finishFills
	if ctx.Err() != nil {
		patience = dropFills
	}
	var err error
	if s.cache != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = s.cache.Close(bounded)
	}
	return errors.Join(err, s.direct.Close())
}
