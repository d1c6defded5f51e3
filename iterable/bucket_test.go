package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Streams of random buckets deliver the batches that package rule makes of each unit, in the order
// that package shuffle defines, and go on from any step on another world size.
func TestBucketStreamsAreTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	table := packRows(t, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}, {90, 0, 90}}, randomDocuments(1))
	n := 24
	if racetest.Enabled {
		n = 8
	}
	for n := range n {
		world, workers, batch := 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(3)
		o := Options{
			Order: Order{Shuffle: r.IntN(4) > 0, Seed: r.Uint64(), Tail: []shuffle.Tail{"drop", "pad", "short", "carry"}[r.IntN(4)]}, ShuffleBuffer: Size{Rows: 1 + r.Int64N(60)},
			Reading: Reading{Columns: []string{"id", "tokens", "mask", "label", "tags"}}, pruneFrom: r.Int64N(2), stepFrom: r.Int64N(2) * 100,
			Bucket: &rule.Bucket{Columns: map[string]int{[]string{"tokens", "n"}[r.IntN(2)]: 50 + r.IntN(500)}, Multiple: r.IntN(9), MaxRows: r.IntN(2) * (1 + r.IntN(20))},
		}
		if r.IntN(2) == 0 {
			o.Lanes, o.UnitRows = 1+r.IntN(8), 1+r.Int64N(60)
		}
		times := make([]int, len(table.rows))
		for i := range times {
			times[i] = 1
		}
		if r.IntN(3) == 0 {
			o.Filters = "id >= 40"
			for i := range times {
				times[i] = truth(i >= 40)
			}
		}
		t.Run(fmt.Sprintf("%d: %s", n, o.Bucket.Text()), func(t *testing.T) {
			d := open(t, table.store, o)
			if o.Tail == shuffle.Drop && d.NumSamples() < int64(world*batch) {
				return
			}
			table.checkPackedOrder(t, d, times, world, workers, batch)
			checkPackedResume(t, d, world, 1+r.IntN(4), batch)
		})
	}
}

// What streams of buckets hold stays within their reservation.
func TestBucketPeakWithinTheReservation(t *testing.T) {
	table := packRows(t, [][]int{{400, 400, 400}, {400, 400}, {1200}}, func(id int64) int { return 500 + int(id*7919%1000) })
	for _, o := range []Options{{Reading: Reading{Columns: []string{"tokens", "label"}}}, {Order: Order{Shuffle: true}}, {Order: Order{Shuffle: true, UnitRows: 100}}} {
		t.Run(fmt.Sprintf("%v %v %d", o.Columns, o.Shuffle, o.UnitRows), func(t *testing.T) {
			o.ShuffleBuffer, o.Bucket = Size{Rows: 40}, &rule.Bucket{Columns: map[string]int{"tokens": 16384}}
			peakWithin(t, table.store, o)
		})
	}
}

// A plan of buckets says how full batches are, and warns where rows are sorted by length.
func TestBucketPlan(t *testing.T) {
	groups := [][]int{{200, 200, 200, 200}, {200, 200, 200, 200}}
	for _, c := range []struct {
		name   string
		length func(id int64) int
		sorted bool
	}{
		{"mixed", func(id int64) int { return 10 + int(id*7919%200) }, false},
		{"sorted", func(id int64) int { return 10 + int(id/8) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Order: Order{Shuffle: true, Tail: shuffle.Short}, Reading: Reading{Columns: []string{"tokens"}}, Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 1024}}}
			d := open(t, packRows(t, groups, c.length).store, o)
			p, err := d.Plan(1, StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			warned := false
			for _, text := range p.Proposals {
				warned = warned || contains(text, "rows are sorted by length")
			}
			if p.Packed.Sorted != c.sorted || warned != c.sorted || !p.Packed.Counted || p.Packed.Utilisation < 0.9 || p.Packed.Utilisation > 1 {
				t.Errorf("%+v\n%q", p.Packed, p.Proposals)
			}
		})
	}
}

func TestBucketRefuses(t *testing.T) {
	table := packRows(t, [][]int{{20}}, randomDocuments(4))
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"no such column", Options{Bucket: &rule.Bucket{Columns: map[string]int{"token": 8}}}, `Bucket["token"] names column "token", which the data does not have`},
		{"texts", Options{Bucket: &rule.Bucket{Columns: map[string]int{"label": 8}}}, `Bucket["label"] must be a column of lists, or of integers that are their lengths, got "label", which is string`},
		{"budget", Options{Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 0}}}, `Bucket["tokens"] must be from 1 to 16777216 tokens, got 0`},
		{"with pack", Options{
			Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 8}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}}},
		}, "Bucket makes batches of rows, and Pack blocks; leave one of the two out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, c.options)
			var e *OptionError
			if err == nil || !errors.As(err, &e) || !contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	d := open(t, table.store, Options{Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 8}}})
	if _, err := d.Taker(TakerOptions{}); err == nil || !contains(err.Error(), "Bucket makes batches of rows, which have no numbers") {
		t.Errorf("error %v", err)
	}
}
