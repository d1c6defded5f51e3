package s3

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// counts are the requests so far; see shard.Traffic.
type counts struct {
	lists, looks, reads, readBytes, retries, hedges, throttled atomic.Int64
}

// Traffic counts the requests to all endpoints so far.
func (s *Store) Traffic() shard.Traffic {
	return shard.Traffic{
		Lists: s.counts.lists.Load(), Looks: s.counts.looks.Load(), Reads: s.counts.reads.Load(), ReadBytes: s.counts.readBytes.Load(),
		Retries: s.counts.retries.Load(), Hedges: s.counts.hedges.Load(), Throttled: s.counts.throttled.Load(),
		Window: s.clients.widest(),
	}
}
