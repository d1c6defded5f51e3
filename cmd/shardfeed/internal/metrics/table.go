package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// A metric is a name and how its values follow from a snapshot.
type metric struct {
	name   string
	help   string
	kind   prometheus.ValueType
	labels []string
	values func(s engine.Snapshot, add adder)
}

// An adder adds a value with the labels of its metric.
type adder func(value float64, labels ...string)

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// table returns all metrics, in the order of the page.
func table() (all []metric) {
	all = append(all, engineMetrics()...)
	all = append(all, rankMetrics()...)
	all = append(all, memoryMetrics()...)
	all = append(all, cacheMetrics()...)
	return append(all, storeMetrics()...)
}

func engineMetrics() []metric {
	return []metric{
		{"shardfeed_build_info", "The engine's version; the value is 1.", gauge, []string{"version"}, func(s engine.Snapshot, add adder) {
			add(1, s.Engine.Build)
		}},
		{"shardfeed_processors", "Processors that the engine may use.", gauge, nil, func(s engine.Snapshot, add adder) {
			add(float64(s.Engine.Processors))
		}},
		{"shardfeed_iterations", "Iterations of ranks that have started and not ended.", gauge, nil, func(s engine.Snapshot, add adder) {
			n := 0
			for _, one := range s.Sessions {
				if one.Iterating {
					n++
				}
			}
			add(float64(n))
		}},
		{"shardfeed_openings", "Data sets that are being opened.", gauge, nil, func(s engine.Snapshot, add adder) {
			add(float64(len(s.Openings)))
		}},
	}
}

// rankMetrics sum over all data sets that a rank reads.
func rankMetrics() []metric {
	of := func(name, help string, value func(engine.RankWork) float64) metric {
		return metric{name, help, counter, []string{"rank"}, func(s engine.Snapshot, add adder) {
			for _, r := range s.Ranks {
				add(value(r), strconv.Itoa(r.Rank))
			}
		}}
	}
	return []metric{
		of("shardfeed_rows_total", "Rows handed to the training loop, without the padding of the last step.", func(r engine.RankWork) float64 { return float64(r.Rows) }),
		of("shardfeed_batches_total", "Batches handed to the training loop.", func(r engine.RankWork) float64 { return float64(r.Batches) }),
		of("shardfeed_batch_bytes_total", "Bytes of the batches handed to the training loop.", func(r engine.RankWork) float64 { return float64(r.Bytes) }),
		of("shardfeed_read_bytes_total", "Encoded bytes of columns that were read, from stores, the cache or local files.", func(r engine.RankWork) float64 { return float64(r.Read) }),
		of("shardfeed_decoded_bytes_total", "Bytes of columns after decoding.", func(r engine.RankWork) float64 { return float64(r.Decoded) }),
		of("shardfeed_kept_bytes_total", "Bytes of columns that came decoded from the local disk.", func(r engine.RankWork) float64 { return float64(r.Kept) }),
		of("shardfeed_lost_rows_total", "Rows whose data is lost, under on_error mask or skip.", func(r engine.RankWork) float64 { return float64(r.Lost) }),
		of("shardfeed_loop_seconds_total", "Time of the training loops since their first next().", func(r engine.RankWork) float64 { return r.Wait.Of }),
		{"shardfeed_wait_seconds_total", "Time that the training loops waited in next(), by what held up the batch.", counter, []string{"rank", "cause"}, func(s engine.Snapshot, add adder) {
			for _, r := range s.Ranks {
				for c := range wait.Cause(wait.Causes) {
					add(r.Wait.Parts[c.String()], strconv.Itoa(r.Rank), c.String())
				}
			}
		}},
		{"shardfeed_waiting_seconds", "Time since the start of a next() that has not ended, by what holds up its batch now; absent while no rank waits for a second.", gauge, []string{"rank", "cause"}, waitingNow},
	}
}

// waitingNow adds the longest next() in progress of each rank.
func waitingNow(s engine.Snapshot, add adder) {
	longest := map[int]*wait.Waiting{}
	for _, one := range s.Sessions {
		if w, before := one.Wait.Now, longest[one.Rank]; w != nil && (before == nil || w.Seconds > before.Seconds) {
			longest[one.Rank] = w
		}
	}
	for rank, w := range longest {
		add(w.Seconds, strconv.Itoa(rank), w.Cause)
	}
}

func memoryMetrics() []metric {
	of := func(name, help string, value func(engine.MemoryUse) int64) metric {
		return metric{name, help, gauge, []string{"purpose"}, func(s engine.Snapshot, add adder) {
			for p := range mem.Purpose(len(mem.Amounts{})) {
				add(float64(value(s.Memory.Purposes[p.String()])), p.String())
			}
		}}
	}
	return []metric{
		{"shardfeed_memory_limit_bytes", "Limit of the memory of all streams; 0 is no limit.", gauge, nil, func(s engine.Snapshot, add adder) {
			add(float64(s.Memory.Limit))
		}},
		of("shardfeed_memory_reserved_bytes", "Memory that streams have reserved.", func(u engine.MemoryUse) int64 { return u.Reserved }),
		of("shardfeed_memory_used_bytes", "Memory that streams use of what they have reserved.", func(u engine.MemoryUse) int64 { return u.Used }),
	}
}

// cacheMetrics sum over the directories.
func cacheMetrics() []metric {
	of := func(name, help string, kind prometheus.ValueType, value func(engine.CacheWork) float64) metric {
		return metric{name, help, kind, nil, func(s engine.Snapshot, add adder) {
			sum := 0.0
			for _, c := range s.Caches {
				sum += value(c)
			}
			add(sum)
		}}
	}
	by := func(name, help, label string, values map[string]func(cache.Stats) int64) metric {
		return metric{name, help, counter, []string{label}, func(s engine.Snapshot, add adder) {
			for word, value := range values {
				var sum int64
				for _, c := range s.Caches {
					sum += value(c.Stats)
				}
				add(float64(sum), word)
			}
		}}
	}
	return []metric{
		of("shardfeed_cache_limit_bytes", "The most bytes that the cache keeps on the local disk.", gauge, func(c engine.CacheWork) float64 { return float64(c.Limit) }),
		of("shardfeed_cache_held_bytes", "Bytes of the cache on the local disk, of all processes.", gauge, func(c engine.CacheWork) float64 { return float64(c.Held) }),
		by("shardfeed_cache_reads_total", "Reads by how the cache served them: hit, miss, or bypass where it was full, off or too slow.", "result", map[string]func(cache.Stats) int64{
			"hit": func(c cache.Stats) int64 { return c.Hits }, "miss": func(c cache.Stats) int64 { return c.Misses }, "bypass": func(c cache.Stats) int64 { return c.Bypassed },
		}),
		by("shardfeed_cache_read_bytes_total", "Bytes by how the cache served them.", "result", map[string]func(cache.Stats) int64{
			"hit": func(c cache.Stats) int64 { return c.HitBytes }, "miss": func(c cache.Stats) int64 { return c.MissBytes }, "bypass": func(c cache.Stats) int64 { return c.BypassBytes },
		}),
		by("shardfeed_cache_filled_bytes_total", "Bytes written to the cache: of shards, or decoded columns.", "form", map[string]func(cache.Stats) int64{
			"shard": func(c cache.Stats) int64 { return c.FilledBytes }, "decoded": func(c cache.Stats) int64 { return c.DecodedFilledBytes },
		}),
		of("shardfeed_cache_dropped_bytes_total", "Bytes that were fetched and not kept: memory or disk was full, or the disk failed.", counter, func(c engine.CacheWork) float64 { return float64(c.Dropped) }),
		of("shardfeed_cache_evictions_total", "Shards and decoded files that were removed to make room.", counter, func(c engine.CacheWork) float64 { return float64(c.Evicted) }),
		of("shardfeed_cache_bad_blocks_total", "Blocks that failed their checksum and were fetched again.", counter, func(c engine.CacheWork) float64 { return float64(c.Bad) }),
		of("shardfeed_cache_disk_read_bytes_total", "Bytes read from the local disk.", counter, func(c engine.CacheWork) float64 { return float64(c.DiskReadBytes) }),
		of("shardfeed_cache_disk_read_seconds_total", "Time with at least one such read.", counter, func(c engine.CacheWork) float64 { return c.DiskReadSeconds }),
		of("shardfeed_cache_disk_write_seconds_total", "Time with at least one write to the local disk.", counter, func(c engine.CacheWork) float64 { return c.DiskWriteSeconds }),
		of("shardfeed_cache_pending_bytes", "Bytes that wait for the local disk now.", gauge, func(c engine.CacheWork) float64 { return float64(c.PendingBytes) }),
		of("shardfeed_cache_disk_failures_total", "Times that the local disk failed.", counter, func(c engine.CacheWork) float64 { return float64(c.Trouble) }),
	}
}

func storeMetrics() []metric {
	of := func(name, help string, kind prometheus.ValueType, value func(shard.StoreTraffic) float64) metric {
		return metric{name, help, kind, []string{"store"}, func(s engine.Snapshot, add adder) {
			for _, one := range s.Stores {
				add(value(one), one.Store)
			}
		}}
	}
	return []metric{
		{"shardfeed_store_requests_total", "Requests: to list, to look at one file, to read bytes.", counter, []string{"store", "kind"}, func(s engine.Snapshot, add adder) {
			for _, one := range s.Stores {
				add(float64(one.Lists), one.Store, "list")
				add(float64(one.Looks), one.Store, "look")
				add(float64(one.Reads), one.Store, "read")
			}
		}},
		of("shardfeed_store_request_seconds_total", "Time of all requests, summed.", counter, func(t shard.StoreTraffic) float64 { return t.Seconds }),
		of("shardfeed_store_busy_seconds_total", "Time with at least one request for bytes in flight.", counter, func(t shard.StoreTraffic) float64 { return t.BusySeconds }),
		of("shardfeed_store_first_byte_seconds_total", "Time from requests for bytes to the start of their answers, summed.", counter, func(t shard.StoreTraffic) float64 { return t.FirstByteSeconds }),
		of("shardfeed_store_answers_total", "Requests for bytes that were answered.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Answers) }),
		of("shardfeed_store_received_bytes_total", "Bytes that arrived.", counter, func(t shard.StoreTraffic) float64 { return float64(t.ReadBytes) }),
		of("shardfeed_store_errors_total", "Requests that failed, or whose answer broke off.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Errors) }),
		of("shardfeed_store_retries_total", "Requests made again after a fault.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Retries) }),
		of("shardfeed_store_hedges_total", "Second requests because the first was slow to answer.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Hedges) }),
		of("shardfeed_store_throttles_total", "Answers that asked to slow down.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Throttled) }),
		of("shardfeed_store_failovers_total", "Changes to another server for the same thing.", counter, func(t shard.StoreTraffic) float64 { return float64(t.Failovers) }),
		of("shardfeed_store_in_flight", "Requests in flight now.", gauge, func(t shard.StoreTraffic) float64 { return float64(t.InFlight) }),
		of("shardfeed_store_window", "Requests that may be in flight at a time now.", gauge, func(t shard.StoreTraffic) float64 { return float64(t.Window) }),
	}
}
