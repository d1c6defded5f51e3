package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A tenth of the rows takes little of the memory of all rows, and what a stream holds stays within
// its reservation.
func TestRuledPeakWithinTheReservation(t *testing.T) {
	store := pictures(t)
	run := func(t *testing.T, o Options) mem.Amounts {
		d := open(t, store, o)
		d.pool.Trim(0)
		s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Parallel: 1, Epochs: 2})
		rest(t, s)
		reserved := s.account.Reserved()
		peak, most := s.account.Peak()
		live := reserved[mem.Decode] + reserved[mem.Shuffle]
		if pool := d.pool.Stats().Peak; most > reserved.Total() || peak[mem.Fetch] > reserved[mem.Fetch] || peak[mem.Shuffle] > live || pool > reserved.Total() {
			t.Errorf("the pool held %v; %d samples:\n%s", mem.Bytes(pool), d.NumSamples(), s.account)
		}
		return reserved
	}
	all := run(t, Options{Shuffle: true, ShuffleBuffer: Size{Rows: 1000}})
	for _, c := range []struct {
		filters, weight string
		shuffle         bool
		buffer          int64
		share           float64 // at most, of the memory of all rows in the shuffle buffer
	}{
		{filters: "id >= 0", shuffle: true, buffer: 1000, share: 1.05},
		{filters: "hash(id) % 10 = 0", shuffle: true, buffer: 100, share: 0.3},
		{filters: "hash(id) % 2 = 0", shuffle: true, buffer: 500, share: 1},
		{filters: "id < 384", shuffle: true, buffer: 100, share: 0.3},
		{filters: "hash(id) % 10 = 0", share: 0.3},
		{weight: "id", filters: "id between 1 and 20", shuffle: true, buffer: 100, share: 0.5},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			reserved := run(t, Options{Shuffle: c.shuffle, ShuffleBuffer: Size{Rows: c.buffer}, Filters: c.filters, Weight: c.weight})
			if got := float64(reserved[mem.Shuffle]) / float64(all[mem.Shuffle]); got > c.share {
				t.Errorf("%.2f of the memory of all rows: %v, %v", got, reserved, all)
			}
		})
	}
}
