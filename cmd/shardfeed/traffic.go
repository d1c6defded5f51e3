package main

import (
	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shard"
)

// reportTraffic reports the requests to servers, if there were any.
func reportTraffic(r *term.Report, t shard.Traffic) {
	if t.Lists+t.Looks+t.Reads == 0 {
		return
	}
	r.Section("storage")
	r.Fact("requests", "%s for bytes, %s to list, %s to look at one shard", text.Count(t.Reads), text.Count(t.Lists), text.Count(t.Looks))
	r.Fact("received", "%v", mem.Bytes(t.ReadBytes))
	r.Fact("faults", "%s made again, %s told to slow down, %s to another server",
		text.Plural(t.Retries, "request"), text.Plural(t.Throttled, "time"), text.Plural(t.Failovers, "move"))
	if t.Hedges > 0 {
		r.Fact("hedged", "%s made twice, because the answer was slow to come", text.Plural(t.Hedges, "request"))
	}
	if t.Window > 0 {
		r.Fact("in flight", "%s may be at once by now", text.Plural(int64(t.Window), "request"))
	}
}

// cacheUse counts the work of the cache on disk in a run.
type cacheUse struct {
	Directory string `json:"directory"`
	cache.Stats
}

// cacheOf is the cache of a data set, or nil.
func cacheOf(ds *shardfeed.Dataset) *cache.Cache {
	c, _ := ds.Cache()
	return c
}

// useOf returns the work of the cache so far, or nil.
func useOf(ds *shardfeed.Dataset) *cacheUse {
	c, dir := ds.Cache()
	if c == nil {
		return nil
	}
	return &cacheUse{dir, c.Stats()}
}

func (c *cacheUse) report(r *term.Report) {
	if c == nil {
		return
	}
	r.Section("cache in " + c.Directory)
	r.Fact("from disk", "%v, %s", mem.Bytes(c.HitBytes), text.Plural(c.Hits, "read"))
	r.Fact("fetched", "%v, %s; %v kept", mem.Bytes(c.MissBytes), text.Plural(c.Misses, "read"), mem.Bytes(c.FilledBytes))
	if c.DecodedFilledBytes > 0 {
		r.Fact("decoded", "%v kept for later epochs", mem.Bytes(c.DecodedFilledBytes))
	}
	if c.Bypassed > 0 {
		r.Fact("passed by", "%v, %s: full, or the disk was too slow", mem.Bytes(c.BypassBytes), text.Plural(c.Bypassed, "read"))
	}
	if c.Dropped > 0 {
		r.Fact("not kept", "%v: no room, or trouble with the disk", mem.Bytes(c.Dropped))
	}
	if c.Evicted > 0 {
		r.Fact("evicted", "%s made room", text.Plural(c.Evicted, "shard"))
	}
	if c.Bad > 0 {
		r.Fact("damaged", "%s on this disk, found by checksum and fetched again", text.Plural(c.Bad, "block"))
	}
}
