package gpu

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/loader"
)

// Stats has a loader's work and waits. Counters start at New; depths and the ring's memory are
// current.
//
// The queues of the loader below are seen from the one who sends its batches to the device, ahead
// of the consumer: where training waits, the consumer's own times are Feed.Get, for a batch to be
// made and sent, and Device.Get, for its copy to arrive.
type Stats struct {
	Batches int64 // handed out
	Rows    int64 // of them
	Held    int   // handed out and not yet released

	Loader loader.Stats // its batches are sent, or waiting to be sent
	Ring   RingStats

	Feed   loader.Queue // from the loader to the device: waits in put are for the device's memory, which the consumer holds
	Device loader.Queue // copies from their start: waits in put are the copy calls', in get the consumer's for their end

	Copies     int64 // begun: one per batch, and one for each piece by which it outgrew its slot
	Copied     int64 // bytes of them
	HostCopied int64 // bytes that had to be copied on the host after collation, because a batch had them in memory of its own
}

// Stats returns the loader's work since New; Loader.Stream is the current iteration's, or else the
// last one's.
func (l *Loader) Stats() Stats {
	host, m := l.host.Stats(), l.meters
	flying, arrived := m.flying.Load(), m.arrived.Load()
	return Stats{
		Batches: m.batches.Load(), Rows: m.rows.Load(), Held: int(m.held.Load()), Loader: host, Ring: l.ring.Stats(),
		Feed: loader.Queue{
			Depth: host.Held, Items: host.Batches, Put: time.Duration(m.room.Load()), Get: time.Duration(m.feed.Load()),
		},
		Device: loader.Queue{
			Depth: int(flying), Cap: l.o.InFlight, Items: arrived, Put: time.Duration(m.sending.Load()), Get: time.Duration(m.device.Load()),
		},
		Copies: m.copies.Load(), Copied: m.copied.Load(), HostCopied: m.hostCopied.Load(),
	}
}

// Sub returns the difference since t.
func (s Stats) Sub(t Stats) Stats {
	s.Batches -= t.Batches
	s.Rows -= t.Rows
	s.Loader = s.Loader.Sub(t.Loader)
	s.Ring = s.Ring.sub(t.Ring)
	s.Feed, s.Device = s.Feed.Sub(t.Feed), s.Device.Sub(t.Device)
	s.Copies -= t.Copies
	s.Copied -= t.Copied
	s.HostCopied -= t.HostCopied
	return s
}

// String is a table of the queues to the device, the copies, the ring, and the loader's tables.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d batches, %d rows, %d batches with the consumer\n", s.Batches, s.Rows, s.Held)
	fmt.Fprintf(&b, "%-8s %7s %7s %9s %16s %16s\n", "queue", "depth", "cap", "items", "blocked in put", "blocked in get")
	fmt.Fprintf(&b, "feed     %v\ndevice   %v\n", s.Feed, s.Device)
	fmt.Fprintf(&b, "%v copied to the device in %d copies, %v copied on the host after collation\n",
		mem.Bytes(s.Copied), s.Copies, mem.Bytes(s.HostCopied))
	fmt.Fprintf(&b, "ring: %v\n", s.Ring)
	b.WriteString(s.Loader.String())
	return b.String()
}

// meters are the counters of a loader, or of only a transfer.
type meters struct {
	batches, rows, held        atomic.Int64 // handed out
	copies, copied, hostCopied atomic.Int64
	flying, arrived            atomic.Int64 // copies
	sending, room              atomic.Int64 // nanoseconds of the one who sends, in copy calls and waiting for memory
	feed, device               atomic.Int64 // nanoseconds of the consumer, waiting for a batch and for its copy
}
