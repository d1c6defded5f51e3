package loader

import (
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
)

// A loader of rank 0 warns as training begins; a resumed one, and other ranks, do not.
func TestPoorMixing(t *testing.T) {
	said := 0
	ds := openShop(t, iterable.Options{ShuffleBuffer: iterable.Size{Rows: 100}, Events: iterable.Events{PoorMixing: func(*iterable.PoorMixing) { said++ }}})
	o := Options{BatchSize: 64, WorldSize: 4}
	state, err := ds.Start(4, iterable.StreamOptions{BatchSize: 64})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		of   func(o Options) Options
		want int
	}{
		{"rank 3", func(o Options) Options { o.Rank = 3; return o }, 0},
		{"resumed", func(o Options) Options { o.State = &state; return o }, 0},
		{"rank 0", func(o Options) Options { return o }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := New(ds, c.of(o))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil || said != c.want {
				t.Errorf("said %d times, want %d: %v", said, c.want, err)
			}
		})
	}
}
