package iterable

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The ids of the tests' files count as the numbers of rows do, so each row of any order names
// itself, and Locate finds it.
func TestRowIDs(t *testing.T) {
	groups, rows := uneven()
	store := files(t, groups, noImage)
	for _, shuffled := range []bool{false, true} {
		for _, world := range []int{1, 3} {
			t.Run(fmt.Sprintf("shuffle %v, %d ranks", shuffled, world), func(t *testing.T) {
				d := open(t, store, Options{Reading: Reading{RowIDs: true, Columns: []string{"id"}}, Order: Order{Shuffle: shuffled, Seed: 3}})
				seen := map[int64]bool{}
				for rank := range world {
					s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, StreamOptions{BatchSize: 7, Tail: shuffle.Short})
					for id := range rowIDs(t, s) {
						seen[id] = true
					}
				}
				if len(seen) != int(rows) {
					t.Errorf("%d of %d rows came", len(seen), rows)
				}
			})
		}
	}
}

// rowIDs reads a stream and yields the ids, which must be the rows' numbers.
func rowIDs(t *testing.T, s *Stream) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		var g rowgroup.Gatherer
		heap := func(n int) ([]byte, error) { return make([]byte, n), nil }
		for {
			draw, err := s.Next(context.Background())
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var columns [2]*column.Array
			for i := range columns {
				if columns[i], err = g.Gather(i, s.dataset.Schema().Fields[i], draw.Blocks, draw.Picks, heap); err != nil {
					t.Fatal(err)
				}
			}
			for i := range draw.Rows {
				id, row := int64(binary.LittleEndian.Uint64(columns[0].Data[8*i:])), int64(binary.LittleEndian.Uint64(columns[1].Data[8*i:]))
				if id != row {
					t.Fatalf("the row with id %d has number %d", id, row)
				}
				yield(id)
			}
			draw.Release()
		}
	}
}

func TestLocate(t *testing.T) {
	d := open(t, files(t, [][]int{{10, 30}, {5}}, noImage), Options{})
	for _, c := range []struct {
		row  int64
		want string
	}{
		{0, "mem://data/part-000.parquet 0 0"},
		{39, "mem://data/part-000.parquet 1 29"},
		{44, "mem://data/part-001.parquet 0 4"},
		{45, "Row must be 0 to 44, got 45"},
	} {
		at, err := d.Locate(c.row)
		got := fmt.Sprint(at.URI, " ", at.RowGroup, " ", at.Row)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("row %d: %s, want %s", c.row, got, c.want)
		}
	}
}
