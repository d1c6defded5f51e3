package loader

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// A map under Skip leaves rows out whose pictures or row groups are lost, and moves them behind the
// others under Mask.
func TestMapLost(t *testing.T) {
	rows := pictures(60) // in two shards of row groups of ten
	damages[0].damage(&rows[3])
	damages[2].damage(&rows[41])
	for _, c := range []struct {
		onError iterable.OnError
		ask     []int64
		ids     []int64 // of the batch
		valid   int
		lost    int    // places so far
		err     string // a part of it
	}{
		{iterable.Skip, []int64{5, 3, 5, 4}, []int64{5, 5, 4}, 3, 1, ""},
		{iterable.Skip, []int64{3}, []int64{}, 0, 1, ""},
		{iterable.Skip, []int64{41, 35, 5, 3, 55}, []int64{5}, 1, 4, ""}, // the second shard is gone
		{iterable.Mask, []int64{5, 3, 7}, []int64{5, 7, 3}, 2, 1, ""},
		{iterable.Mask, []int64{41, 5, 45, 7}, []int64{5, 7, 5, 7}, 2, 1, ""},
		{iterable.Mask, []int64{41}, nil, 0, 0, "data/1.parquet"},
		{iterable.Raise, []int64{1, 3}, nil, 0, 0, `row 3: JPEG: it is truncated: the end marker is missing after`},
		{iterable.Raise, []int64{1, 3}, nil, 0, 0, `OnError="skip"`},
		{iterable.Raise, []int64{41}, nil, 0, 0, `OnError="skip"`},
	} {
		t.Run(fmt.Sprint(c.onError, c.ask), func(t *testing.T) {
			store := &mem.Store{}
			putPictures(t, store, "data", rows)
			ds := openPicturesOf(t, store, []string{"mem://data/"}, iterable.Options{Losses: iterable.Losses{OnError: c.onError}})
			if slices.ContainsFunc(c.ask, func(row int64) bool { return row >= 30 }) {
				store.Remove("data/1.parquet")
			}
			m := newShopMap(t, ds, MapOptions{Images: twoImages()})
			b, err := m.Batch(t.Context(), c.ask)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			if ids := values[int64](t, b, "id"); !slices.Equal(ids, c.ids) || b.Valid != c.valid {
				t.Errorf("got %v with %d valid ones", ids, b.Valid)
			}
			if n := len(ds.Losses()); n != c.lost {
				t.Errorf("%d places are lost: %v", n, ds.Losses())
			}
		})
	}
}
