package iterable

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Ten rows in one row group, and four files of one row group, on eight ranks.
func TestFewRowsOnManyRanks(t *testing.T) {
	for _, groups := range [][][]int{{{10}}, {{7}, {1}, {9}, {15}}, {{3}}} {
		rows := int64(0)
		for _, g := range groups {
			rows += int64(g[0])
		}
		for _, shuffled := range []bool{true, false} {
			for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
				t.Run(fmt.Sprintf("%v shuffle %t %s", groups, shuffled, tail), func(t *testing.T) {
					d := open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: shuffled, Tail: tail}})
					if tail == shuffle.Drop && rows < 8 {
						var few *shuffle.Error
						if _, err := d.Stream(t.Context(), shuffle.Worker{WorldSize: 8}, StreamOptions{}); !errors.As(err, &few) || few.Field != "tail" {
							t.Errorf("error %v", err)
						}
						return
					}
					n, err := d.Len(1, 8, "")
					if err != nil {
						t.Fatal(err)
					}
					seen := map[int64]int{}
					for rank := range 8 {
						all := rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 8}, StreamOptions{}))
						if int64(len(all)) != n {
							t.Errorf("rank %d has %d steps of %d", rank, len(all), n)
						}
						for _, x := range all {
							for _, id := range x.ids[:x.valid] {
								seen[id]++
							}
							if tail == shuffle.Pad && len(x.ids) != 1 {
								t.Errorf("rank %d has %d rows", rank, len(x.ids))
							}
						}
					}
					want := rows
					if tail == shuffle.Drop || tail == shuffle.Carry {
						want -= rows % 8
					}
					for id, k := range seen {
						if k != 1 {
							t.Errorf("row %d came %d times", id, k)
						}
					}
					if int64(len(seen)) != want {
						t.Errorf("%d rows came, want %d", len(seen), want)
					}
				})
			}
		}
	}
}

// A padded batch repeats the rank's own rows of the step in turn; a rank without any has the first
// row of the data, and none valid.
func TestPadding(t *testing.T) {
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			d := open(t, files(t, [][]int{{11}}, noImage), Options{Order: Order{Shuffle: shuffled, Tail: shuffle.Pad}})
			valid := 0
			for rank := range 3 {
				all := rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: 3}, StreamOptions{BatchSize: 3}))
				last := all[len(all)-1]
				if len(all) != 2 || all[0].valid != 3 || len(last.ids) != 3 {
					t.Fatalf("rank %d: %v", rank, all)
				}
				for i, id := range last.ids {
					want := int64(0)
					if last.valid > 0 {
						want = last.ids[i%last.valid]
					}
					if id != want {
						t.Errorf("rank %d: %v, of which %d are valid", rank, last.ids, last.valid)
					}
				}
				valid += last.valid
			}
			if valid != 2 {
				t.Errorf("%d valid rows in the last step", valid)
			}
		})
	}
	d := open(t, files(t, [][]int{{5}}, noImage), Options{Order: Order{Tail: shuffle.Pad}})
	x := rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 13}))[0]
	if fmt.Sprint(x.ids) != "[0 1 2 3 4 0 1 2 3 4 0 1 2]" || x.valid != 5 {
		t.Errorf("%v, %d valid", x.ids, x.valid)
	}
}

func TestNoRows(t *testing.T) {
	store := files(t, [][]int{{0}, {}}, noImage)
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			d := open(t, store, Options{Order: Order{Shuffle: shuffled, Tail: shuffle.Short}})
			if _, err := stream(t, d, shuffle.Worker{}, StreamOptions{Epochs: -1}).Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("shuffle %t: %v", shuffled, err)
			}
		})
	}
}

// A row group that the lanes of one stream cut is decoded once.
func TestCutUnitIsDecodedOnce(t *testing.T) {
	d := open(t, files(t, [][]int{{100}}, noImage), Options{Order: Order{Shuffle: true, Lanes: 8}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	if rows := len(rest(t, s)); rows != 25 {
		t.Errorf("%d steps", rows)
	}
	if n := s.Stats().Units; n != 1 {
		t.Errorf("%d units were decoded", n)
	}
}

// The first units of the next epoch are read while the last of this one drain.
func TestEpochsFollowWithoutAStall(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 800}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Epochs: -1, Draws: 1})
	steps, err := d.Len(16, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * steps {
		dr, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if dr.Epoch != i/steps || dr.Step != i%steps {
			t.Fatalf("draw %d is step %d of epoch %d", i, dr.Step, dr.Epoch)
		}
		if i%steps == steps-1 {
			waitFor(t, func() bool { return s.Stats().Units > 24*(i/steps+1) })
		}
		dr.Release()
	}
}

func TestOptionsListAllProblems(t *testing.T) {
	o := Options{Resources: Resources{Memory: -1, Parallel: -4}, Order: Order{UnitRows: -2, Lanes: -3, Start: "soon", Tail: "none"}, ShuffleBuffer: Size{Rows: -5, Bytes: -6}}
	err := o.Validate()
	for _, part := range []string{"Memory must", "UnitRows must", "Lanes must", `got "soon"`, `got "none"`, "got -4", "got -5", "got -6"} {
		if err == nil || !contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}
