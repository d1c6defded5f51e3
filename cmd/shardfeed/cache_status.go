package main

import (
	"fmt"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/trusted"
)

// cacheStatus is the cache's directory and what a run could keep there; sizes are in bytes.
type cacheStatus struct {
	Path   string `json:"path"`
	State  string `json:"state"`
	Shards int    `json:"shards"`
	Bytes  int64  `json:"bytes"`
	Limit  int64  `json:"limit_bytes"`
	Free   int64  `json:"free_bytes"`
}

// cacheStatus looks at the cache without changing it.
func (f *flags) cacheStatus() cacheStatus {
	c := cacheStatus{Path: f.Places().Root}
	if c.Path == "" {
		c.State = "none: neither SHARDFEED_CACHE_DIR nor HOME is set"
		return c
	}
	exists := trusted.Nearest(c.Path)
	c.Free = process.FreeBytes(exists)
	if err := cache.Fit(c.Path); err != nil {
		c.State = fmt.Sprintf("cannot be used: %v", err)
		return c
	}
	space, err := cache.Usage(c.Path)
	if err == nil {
		c.Limit, err = f.CacheLimitIn(c.Path)
	}
	c.Shards, c.Bytes = space.Shards, space.Bytes
	switch {
	case err != nil:
		c.State = fmt.Sprintf("cannot be used: %v", err)
	case f.NoCache:
		c.State = "not used: --no-cache"
	case space.ReadOnly:
		c.State = fmt.Sprintf("read-only: holds %v of %s, and nothing is added", mem.Bytes(c.Bytes), text.Plural(int64(c.Shards), "shard"))
	case !process.Writable(exists):
		c.State = "cannot be written: runs do not use it"
	case space.Shards == 0:
		c.State = "empty; used for what is on servers"
	default:
		c.State = fmt.Sprintf("holds %v of %s", mem.Bytes(c.Bytes), text.Plural(int64(c.Shards), "shard"))
	}
	return c
}

func (c cacheStatus) report(r *term.Report) {
	r.Section("cache on disk")
	r.Fact("directory", "%s", c.Path)
	r.Fact("state", "%s", c.State)
	if c.Limit > 0 {
		r.Fact("limit", "%v (--cache-limit)", mem.Bytes(c.Limit))
	}
	if c.Free > 0 {
		r.Fact("free", "%v", mem.Bytes(c.Free))
	}
}
