package verdict

import (
	"fmt"
	"time"

	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/wait"
)

const (
	slowRequest = 100 * time.Millisecond // mean of a request to a store that is far or overloaded
	slowDisk    = 300e6                  // bytes per second
)

// storageRows explain bytes from a store.
var storageRows = []row{
	{
		kind: "throttled", of: is(wait.Storage),
		when: func(s *scene) bool { return s.store.Throttled > 0 && s.store.Throttled*50 >= s.store.Requests },
		found: func(s *scene) string {
			return fmt.Sprintf("%s refused %s of %s for their rate", s.store.Kind, text.Count(s.store.Throttled), text.Plural(s.store.Requests, "request"))
		},
		cure: then("ask the store for a higher rate, or spread the shards over more prefixes", keep),
	},
	{
		kind: "slow node", of: is(wait.Storage),
		when: func(s *scene) bool {
			return s.apart() && s.latency() > 2*s.elsewhere((*scene).latency) && s.compared((*scene).latency)
		},
		found: func(s *scene) string { return list(storeSpeed(s), "elsewhere "+seconds(s.elsewhere((*scene).latency))) },
		cure:  func(s *scene) string { return "check the network of " + s.node.Host },
	},
	{kind: "small cache", of: is(wait.Storage), when: smallCache, found: storeSpeed, cure: keep},
	{
		kind: "small memory", of: is(wait.Storage), when: smallMemory, found: storeSpeed,
		cure: then("raise memory, so that more is read ahead", keep),
	},
	{
		kind: "slow store", of: is(wait.Storage),
		when:  func(s *scene) bool { return s.store.Kind != local && s.store.Latency >= slowRequest },
		found: storeSpeed,
		cure:  then("requests take long: use a store that is nearer or less busy", keep),
	},
	{
		kind: "slow disk", of: is(wait.Storage),
		when:  func(s *scene) bool { return s.store.Kind == local },
		found: storeSpeed,
		cure:  says("copy the shards to a faster disk, or to more memory: the system keeps files there that fit"),
	},
	{
		kind: "cold cache", of: is(wait.Storage),
		when:  func(s *scene) bool { return s.cached() && s.First },
		found: storeSpeed,
		cure:  keep,
	},
	{
		kind: "no cache", of: is(wait.Storage),
		when:  func(s *scene) bool { return s.node.Host != "" && s.store.Kind != "" && !s.cached() },
		found: storeSpeed,
		cure:  keep,
	},
	{
		kind: "slow network", of: is(wait.Storage), found: storeSpeed,
		cure: says("the store or the network gives no more: read fewer columns, or use more nodes"),
	},
}

// local is the kind of the store of this machine's files.
const local = "file"

// then appends what else helps.
func then(first string, more func(*scene) string) func(*scene) string {
	return func(s *scene) string {
		if m := more(s); m != "" {
			return first + "; " + m
		}
		return first
	}
}

// smallMemory reports whether more memory would give more bytes: it limits how many requests are in
// flight, the store takes twice as many, and they mostly wait for their answers.
func smallMemory(s *scene) bool {
	return s.node.Memory.Held >= 0.5 && s.store.Answering >= 0.5 && 2*s.store.InFlight < s.store.Window
}

func smallCache(s *scene) bool { return s.cached() && s.node.Cache.Needed > s.node.Cache.Limit }

// keep is the cure by the cache for a store that is too slow.
func keep(s *scene) string {
	c := s.node.Cache
	switch {
	case smallCache(s):
		return fmt.Sprintf("a cache of %s would hold the table, the limit is %s", size(c.Needed), size(c.Limit))
	case s.cached() && s.First:
		return "this epoch fills the cache, and later ones read from the disk; shardfeed warm fills it before a run"
	case s.cached() || s.node.Host == "":
		return ""
	}
	return "no cache is in use: with cache_limit later epochs read from the disk"
}

// storeSpeed shows how the store answers: "s3: 84 MB/s at 41 ms, 16 of 16 requests in flight".
func storeSpeed(s *scene) string {
	st := s.store
	if st.Kind == "" || st.Requests <= 0 {
		return ""
	}
	f := fmt.Sprintf("%s: %s at %s", st.Kind, speed(rate(st.Bytes, st.Busy)), seconds(st.Latency.Seconds()))
	if st.Window > 0 {
		f += fmt.Sprintf(", %d of %d requests in flight", st.InFlight, st.Window)
	}
	if st.Retries > 0 {
		f += ", " + text.Count(st.Retries) + " retried"
	}
	return f
}

// compared reports whether other nodes have a figure.
func (s *scene) compared(figure func(*scene) float64) bool { return s.elsewhere(figure) > 0 }

// cacheRows explain bytes from the local disk.
var cacheRows = []row{
	{
		kind: "slow node", of: is(wait.Cache),
		when: func(s *scene) bool {
			return s.apart() && s.disk() > 0 && 2*s.disk() < s.elsewhere((*scene).disk)
		},
		found: func(s *scene) string {
			return fmt.Sprintf("its disk reads %s, elsewhere %s", speed(s.disk()), speed(s.elsewhere((*scene).disk)))
		},
		cure: func(s *scene) string { return "check the disk of " + s.node.Host },
	},
	{kind: "small cache", of: is(wait.Cache), when: smallCache, found: diskSpeed, cure: keep},
	{
		kind: "slow disk", of: is(wait.Cache), found: diskSpeed,
		when: func(s *scene) bool { return s.disk() < slowDisk },
		cure: says("put cache_dir on a faster disk of this machine, such as NVMe"),
	},
	{
		kind: "busy disk", of: is(wait.Cache), found: diskSpeed,
		cure: says("read fewer columns, or give the machine memory: the system keeps what it reads there"),
	},
}

func diskSpeed(s *scene) string {
	if s.disk() == 0 {
		return ""
	}
	return "the disk reads " + speed(s.disk())
}
