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
	all := map[string]int64{}
	for _, c := range []struct {
		filters string
		weight  string
		shuffle bool
		buffer  int64
		share   float64
	}{
		{"id >= 0", "", true, 1000, 1.3},
		{"hash(id) % 10 = 0", "", true, 100, 0.35},
		{"id % 2 = 0", "", true, 500, 1},
		{"id < 384", "", true, 100, 0.35},
		{"hash(id) % 10 = 0", "", false, 0, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if c.filters == "id % 2 = 0" {
				c.filters = "hash(id) % 2 = 0"
			}
			run := func(o Options) (reserved mem.Amounts, peak mem.Amounts, most, pool int64) {
				d := open(t, store, o)
				s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 2, Parallel: 1, Epochs: 2})
				d.pool.Trim(0)
				rest(t, s)
				reserved = s.account.Reserved()
				peak, most = s.account.Peak()
				t.Logf("%d rows, least %v\n%s", d.NumSamples(), mem.Bytes(reserved.Total()), s.account)
				return reserved, peak, most, d.pool.Stats().Peak
			}
			o := Options{Shuffle: c.shuffle, ShuffleBuffer: Size{Rows: 1000}}
			whole, _, _, _ := run(o)
			o.Filters, o.ShuffleBuffer.Rows = c.filters, c.buffer
			reserved, peak, most, pool := run(o)
			if live := reserved[mem.Decode] + reserved[mem.Shuffle]; most > reserved.Total() || peak[mem.Shuffle] > live || pool > reserved.Total() {
				t.Errorf("%v reserved, peak %v, most %v, the pool %v", reserved, peak, mem.Bytes(most), mem.Bytes(pool))
			}
			if got := float64(reserved.Total()) / float64(whole.Total()); got > c.share {
				t.Errorf("%.2f of the memory of all rows", got)
			}
		})
	}
	_ = all
}
