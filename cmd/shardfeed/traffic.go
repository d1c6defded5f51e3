package main

import (
	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
)

// reportTraffic reports the requests to servers, if there were any.
func reportTraffic(r *report, t shard.Traffic) {
	if t.Lists+t.Looks+t.Reads == 0 {
		return
	}
	r.section("storage")
	r.fact("requests", "%s for bytes, %s to list, %s to look at one shard", count(t.Reads), count(t.Lists), count(t.Looks))
	r.fact("received", "%v", mem.Bytes(t.ReadBytes))
	r.fact("faults", "%s made again, %s told to slow down, %s to another server",
		plural(t.Retries, "request"), plural(t.Throttled, "time"), plural(t.Failovers, "move"))
	if t.Hedges > 0 {
		r.fact("hedged", "%s made twice, because the answer was slow to come", plural(t.Hedges, "request"))
	}
	if t.Window > 0 {
		r.fact("in flight", "%s may be at once by now", plural(int64(t.Window), "request"))
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

func (c *cacheUse) report(r *report) {
	if c == nil {
		return
	}
	r.section("cache in " + c.Directory)
	r.fact("from disk", "%v, %s", mem.Bytes(c.HitBytes), plural(c.Hits, "read"))
	r.fact("fetched", "%v, %s; %v kept", mem.Bytes(c.MissBytes), plural(c.Misses, "read"), mem.Bytes(c.FilledBytes))
	if c.DecodedFilledBytes > 0 {
		r.fact("decoded", "%v kept for later epochs", mem.Bytes(c.DecodedFilledBytes))
	}
	if c.Bypassed > 0 {
		r.fact("passed by", "%v, %s: full, or the disk was too slow", mem.Bytes(c.BypassBytes), plural(c.Bypassed, "read"))
	}
	if c.Dropped > 0 {
		r.fact("not kept", "%v: no room, or trouble with the disk", mem.Bytes(c.Dropped))
	}
	if c.Evicted > 0 {
		r.fact("evicted", "%s made room", plural(c.Evicted, "shard"))
	}
	if c.Bad > 0 {
		r.fact("damaged", "%s on this disk, found by checksum and fetched again", plural(c.Bad, "block"))
	}
}
