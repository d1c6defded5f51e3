package driver

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/shard"
)

// A Meter counts the requests of a store as they are made; see shard.Traffic.
type Meter struct {
	Lists, Looks, Reads, ReadBytes, Retries, Hedges, Throttled, Failovers atomic.Int64
}

// Traffic is the counts so far, and the width of a window.
func (m *Meter) Traffic(window int) shard.Traffic {
	return shard.Traffic{
		Lists: m.Lists.Load(), Looks: m.Looks.Load(), Reads: m.Reads.Load(), ReadBytes: m.ReadBytes.Load(),
		Retries: m.Retries.Load(), Hedges: m.Hedges.Load(), Throttled: m.Throttled.Load(), Failovers: m.Failovers.Load(),
		Window: window,
	}
}
