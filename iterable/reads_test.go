package iterable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// What Reads lists of some ranks is what their streams read in all epochs: no row of another unit,
// and of each unit some row, whatever the lanes, the division of ranks and the tail.
func TestReads(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	for _, c := range []struct {
		lanes, world int
		ranks        []int
		unitRows     int64
		tail         shuffle.Tail
	}{
		{8, 4, []int{1}, 0, shuffle.Short},
		{8, 4, []int{2, 3}, 7, shuffle.Pad},
		{8, 3, []int{0}, 0, shuffle.Short},
		{6, 6, []int{5}, 10, shuffle.Carry},
		{5, 2, []int{1}, 0, shuffle.Carry},
		{4, 1, []int{0}, 0, shuffle.Short},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d := open(t, store, Options{Order: Order{Shuffle: true, Seed: 4, Lanes: c.lanes, UnitRows: c.unitRows}, ShuffleBuffer: Size{Rows: 60}})
			o := StreamOptions{BatchSize: 5, Tail: c.tail, Epochs: 8}
			all, err := d.Reads(c.ranks, c.world, o)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d sources, %v", len(all), err)
			}
			read := map[int64]bool{}
			for _, rank := range c.ranks {
				for _, x := range rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: c.world}, o)) {
					for _, id := range x.ids {
						read[id] = true
					}
				}
			}
			missing, listed := touched(d, all[0], read), 0
			for _, r := range all[0] {
				listed += int(r.Hi - r.Lo)
			}
			if len(missing) > 0 || len(read) > listed {
				t.Errorf("no row is read of %v; %d rows are read of %d", missing, len(read), listed)
			}
			for id := range read {
				if !within(d, all[0], id) {
					t.Errorf("row %d is read and not listed", id)
				}
			}
			if c.world > 1 && 4*listed > 3*int(d.NumRows()) {
				t.Errorf("%d rows of %d are listed", listed, d.NumRows())
			}
		})
	}
	d := open(t, store, Options{})
	if _, err := d.Reads([]int{0}, 2, StreamOptions{}); err == nil || !strings.Contains(err.Error(), "in file order") {
		t.Errorf("in file order: %v", err)
	}
	mixed := open(t, store, Options{Order: Order{Shuffle: true}})
	if _, err := mixed.Reads([]int{2}, 2, StreamOptions{}); err == nil {
		t.Error("a rank that is none")
	}
}

// Under the tail "carry" the lanes of an epoch begin where the epoch before ended, so that a rank
// reads other row groups at their edges. They are all listed.
func TestReadsOfShiftedLanes(t *testing.T) {
	d := open(t, files(t, [][]int{slices.Repeat([]int{1}, 51)}, noImage), Options{Order: Order{Shuffle: true, Lanes: 7}})
	o := StreamOptions{BatchSize: 2, Tail: shuffle.Carry, Epochs: 7}
	all, err := d.Reads([]int{3}, 7, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range rest(t, stream(t, d, shuffle.Worker{Rank: 3, WorldSize: 7}, o)) {
		for _, id := range x.ids {
			if !within(d, all[0], id) {
				t.Errorf("row %d is read and not listed", id)
			}
		}
	}
	if n := len(all[0]); n > 12 {
		t.Errorf("%d rows are listed", n)
	}
}

// first is the number of the first row of a row group.
func first(d *Dataset, r rowgroup.Rows) int64 {
	for _, g := range d.sources[0].manifest.Groups() {
		if int(g.Shard) == r.Shard && int(g.RowGroup) == r.RowGroup {
			return g.First
		}
	}
	return -1
}

// touched lists the rows of which none is read.
func touched(d *Dataset, all []rowgroup.Rows, read map[int64]bool) (not []rowgroup.Rows) {
	for _, r := range all {
		any := false
		for i := r.Lo; i < r.Hi; i++ {
			any = any || read[first(d, r)+i]
		}
		if !any {
			not = append(not, r)
		}
	}
	return not
}

func within(d *Dataset, all []rowgroup.Rows, id int64) bool {
	for _, r := range all {
		if at := id - first(d, r); at >= r.Lo && at < r.Hi {
			return true
		}
	}
	return false
}
