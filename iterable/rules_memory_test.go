package iterable

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A tenth of the rows takes little of the memory of all rows, and what a stream holds stays within
// its reservation.
func TestRuledPeakWithinTheReservation(t *testing.T) {
	store := pictures(t)
	all := peakWithin(t, store, Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 1000}})
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
			reserved := peakWithin(t, store, Options{Order: Order{Shuffle: c.shuffle}, ShuffleBuffer: Size{Rows: c.buffer}, Choice: Choice{Filters: c.filters}, Weight: c.weight})
			if got := float64(reserved[mem.Shuffle]) / float64(all[mem.Shuffle]); got > c.share {
				t.Errorf("%.2f of the memory of all rows: %v, %v", got, reserved, all)
			}
		})
	}
}

// peakWithin reads two epochs, checks that what a stream held stayed within its reservation, and
// returns that.
func peakWithin(t *testing.T, store shard.Store, o Options) mem.Amounts {
	t.Helper()
	d := open(t, store, o)
	d.pool.Trim(0)
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Parallel: 1, Epochs: 2})
	if d.packing() == nil {
		rest(t, s)
	}
	readThrough(t, s)
	reserved := s.account.Reserved()
	peak, most := s.account.Peak()
	live := reserved[mem.Decode] + reserved[mem.Shuffle]
	if pool := d.pool.Stats().Peak; most > reserved.Total() || peak[mem.Fetch] > reserved[mem.Fetch] || peak[mem.Shuffle] > live || pool > reserved.Total() {
		t.Errorf("the pool held %v; %d samples:\n%s", mem.Bytes(pool), d.NumSamples(), s.account)
	}
	return reserved
}

// Loads of few wide rows are divided although they are small, so that a fifth of the rows takes
// about a fifth of the shuffle buffer's memory.
func TestSmallLoadsAreDivided(t *testing.T) {
	store := files(t, slices.Repeat([][]int{{250, 250, 250, 250}}, 4), func(id int64) int { return 16_000 + int(id%1000) })
	all := peakWithin(t, store, Options{Order: Order{Shuffle: true, Lanes: 3}, ShuffleBuffer: Size{Rows: 2000}})
	few := peakWithin(t, store, Options{Order: Order{Shuffle: true, Lanes: 3}, ShuffleBuffer: Size{Rows: 400}, Choice: Choice{Filters: "hash(id) % 5 = 0"}})
	if got := float64(few[mem.Shuffle]) / float64(all[mem.Shuffle]); got > 0.28 {
		t.Errorf("%.3f of the memory of all rows: %v, %v", got, few, all)
	}
}
