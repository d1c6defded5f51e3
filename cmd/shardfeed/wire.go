package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
)

const (
	// Of a rank's memory, what the stores may hold: bytes that wait for the cache's disk, and footers and dictionaries.
	pendingPart, leastPending, mostPending = 16, 8 << 20, 64 << 20
	hotPart, leastHot, mostHot             = 64, 1 << 20, 32 << 20
	storePart                              = 4 // never more than this part, each

	finishFills = 10 * time.Second       // for fills that wait for the disk when a verb ends
	dropFills   = 500 * time.Millisecond // after an interrupt
)

// A source is where a verb's shards come from. It is closed after everything that was opened from it.
type source struct {
	shard.Stores              // as a run sees them
	direct       shard.Stores // the drivers alone
	cache        *cache.Cache // nil: none
	dir          string       // of the cache
	hot          *rowgroup.Hot
	memory       int64 // bytes of a stream's memory that all this may hold
	shared       bool  // cache and hot are others' too, who close them
}

// connect is the one place where stores are chosen and what lies around them: a driver for each scheme, and around those of servers the disk
// cache, where one is wanted, the addresses need it and this machine has a place for it. Nothing is asked of a server yet.
func (a *app) connect(f *flags, addresses []string, shown *opening) (*source, error) {
	drivers, err := f.stores()
	if err != nil {
		return nil, err
	}
	f.inEnvironment(&drivers)
	drivers.S3.Events.Listed = shown.listed
	drivers.HDFS.Events.Listed = shown.listed
	drivers.HDFS.Events.Warn = func(text string) { a.note("%s", text) }
	s := &source{direct: all.Stores(drivers)}
	s.Stores = maps.Clone(s.direct)
	if f.noCache || !anyRemote(addresses) {
		return s, nil
	}
	s.dir = f.root()
	if s.cache, err = a.cacheOf(f, s.dir); err != nil {
		return nil, errors.Join(err, s.direct.Close())
	}
	if s.cache != nil {
		s.memory = f.part(pendingPart, leastPending, mostPending)
	}
	hot := f.part(hotPart, leastHot, mostHot)
	if s.shared = a.host != nil; s.shared {
		s.hot = a.host.hotOf(hot)
	} else {
		s.hot = rowgroup.NewHot(hot)
	}
	s.memory += hot
	return s, nil
}

// cacheOf is the cache in dir: the verb's own, or the one of the engine.
func (a *app) cacheOf(f *flags, dir string) (*cache.Cache, error) {
	open := func() (*cache.Cache, error) { return a.openCache(f, dir) }
	if a.host == nil || dir == "" {
		return open()
	}
	return a.host.cacheIn(dir, open)
}

// inEnvironment lets the stores read the environment of the one who asks, where that is another process.
func (f *flags) inEnvironment(drivers *all.Options) {
	if len(f.variables) == 0 {
		return
	}
	drivers.S3.Environ = f.variables
	drivers.HDFS.Getenv = func(name string) string { return f.variables[name] }
	drivers.HDFS.User = cmp.Or(drivers.HDFS.User, f.variables["HADOOP_USER_NAME"])
	drivers.HDFS.TokenFile = cmp.Or(drivers.HDFS.TokenFile, f.variables["HADOOP_TOKEN_FILE_LOCATION"])
}

// throughCache puts the cache around the stores of servers, around each once though several schemes share it. It is called when the
// footers have been read, for the index keeps those, and before anything else is.
func (s *source) throughCache() {
	if s.cache == nil {
		return
	}
	around := map[shard.Store]shard.Store{}
	for scheme, store := range s.direct {
		if !isRemoteScheme(scheme) {
			continue
		}
		if around[store] == nil {
			around[store] = s.cache.Wrap(store)
		}
		s.Stores[scheme] = around[store]
	}
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
	if wrong := (*usageError)(nil); errors.As(err, &wrong) {
		return nil, err
	}
	if err != nil {
		err = fmt.Errorf("cache %s: %w", dir, err)
	}
	var c *cache.Cache
	var said sync.Once
	trouble := func(err error) {
		said.Do(func() { a.note("the cache on disk was off for a while, and bytes came from the servers: %v", err) })
	}
	if err == nil {
		c, err = cache.Open(cache.Options{
			Dir: dir, Limit: limit, Policy: f.policy(), Pending: f.part(pendingPart, leastPending, mostPending),
			Events: cache.Events{
				Trouble:  trouble,
				Low:      func(err error) { a.note("%v", err) },
				ReadOnly: func(err error) { a.note("%v", err) },
			},
		})
	}
	switch {
	case err == nil:
		return c, nil
	case f.cacheNeeded, f.cacheDir != "" && !errors.Is(err, cache.ErrNoRoom):
		return nil, elsewhere(err)
	}
	a.note("going on without a cache on disk: %v", err)
	return nil, nil
}

// elsewhere says what to do about a directory that cannot be used, unless the error does.
func elsewhere(err error) error {
	switch {
	case errors.Is(err, cache.ErrUnfit):
		return err
	case errors.Is(err, cache.ErrNoRoom):
		return fmt.Errorf("%w (make room there, or name a directory on another disk with --cache-dir)", err)
	}
	return fmt.Errorf("%w (name another directory with --cache-dir)", err)
}

// part is a part of a rank's memory, within bounds.
func (f *flags) part(of, least, most int64) int64 {
	memory := int64(f.memory)
	if memory == 0 {
		memory = f.rankMemory()
	}
	return min(max(memory/of, least), most, memory/storePart)
}

// rankMemory is the limit of a rank where the flags give none.
func (f *flags) rankMemory() int64 {
	if f.ranksHere == 0 {
		return mem.DefaultLimit()
	}
	return mem.ThisMachine().RankLimit(f.ranksHere)
}

// close finishes what waits for the cache's disk, or drops it after an interrupt, and closes the connections.
func (s *source) close(ctx context.Context) error {
	patience := finishFills
	if ctx.Err() != nil {
		patience = dropFills
	}
	var err error
	if s.shared {
		return s.direct.Close()
	}
	if s.cache != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = s.cache.Close(bounded)
	}
	s.hot.Close()
	return errors.Join(err, s.direct.Close())
}
