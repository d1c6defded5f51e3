package estimate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The rows that take the most are found as sorting all spans finds them.
func TestDensest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	for range 200 {
		rows := r.Int64N(500)
		d := NewDensest(rows)
		var all []spanBytes
		for range 1 + r.IntN(30) {
			s := spanBytes{rows: r.Int64N(60), bytes: r.Int64N(10_000)}
			if d.Add(s.rows, s.bytes); s.rows > 0 {
				all = append(all, s, s)
			}
		}
		slices.SortFunc(all, func(a, b spanBytes) int {
			if a.row() > b.row() {
				return -1
			}
			return 1
		})
		want, left, total, taken := int64(0), rows, int64(0), int64(0)
		for _, s := range all {
			n := min(left, s.rows)
			want += s.bytes * n / s.rows
			left, taken, total = left-n, taken+s.rows, total+s.bytes
		}
		if left > 0 && taken > 0 {
			want = total * rows / taken
		}
		if got := d.Most(); got < want || got > want+2 {
			t.Fatalf("%d rows take %d, want %d", rows, got, want)
		}
		if d.spans.Len() > 0 && d.held-d.spans.First().rows >= max(rows, 1) {
			t.Fatalf("%d spans are kept", d.spans.Len())
		}
	}
}
