package iterable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shuffle"
)

// Each row comes once an epoch, and all ranks have the same number of steps, over world sizes,
// workers, lanes, units and tails.
func TestEachRowOnce(t *testing.T) {
	groups, rows := uneven()
	store := files(t, groups, noImage)
	for _, c := range []struct {
		world, workers, lanes int
		unitRows              int64
		batch                 int
		shuffle               bool
	}{
		{1, 1, 0, 0, 1, true},
		{1, 1, 0, 0, 7, false},
		{1, 3, 0, 0, 16, true},
		{2, 1, 0, 0, 8, true},
		{2, 2, 8, 0, 8, true},
		{3, 1, 0, 10, 5, true},
		{3, 2, 4, 0, 5, true},
		{8, 1, 0, 0, 4, true},
		{5, 3, 16, 3, 4, true},
		{5, 3, 0, 0, 4, false},
		{4, 1, 0, 0, 2, false},
	} {
		for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
			t.Run(fmt.Sprintf("%+v %s", c, tail), func(t *testing.T) {
				d := open(t, store, Options{Order: Order{Shuffle: c.shuffle, Seed: 5, Tail: tail, Lanes: c.lanes, UnitRows: c.unitRows}, ShuffleBuffer: Size{Rows: 100}})
				g := int64(c.world * c.batch)
				const epochs = 3
				want := map[shuffle.Tail]int64{shuffle.Drop: epochs * (rows / g), shuffle.Pad: epochs * ((rows + g - 1) / g), shuffle.Short: epochs * ((rows + g - 1) / g), shuffle.Carry: epochs * rows / g}[tail]
				seen := make([]map[int64]int, epochs)
				for e := range seen {
					seen[e] = map[int64]int{}
				}
				total := map[int64]int{}
				for rank := range c.world {
					for worker := range c.workers {
						s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: c.world, Worker: worker, Workers: c.workers}, StreamOptions{BatchSize: c.batch, Epochs: epochs})
						all := rest(t, s)
						if int64(len(all)) != want {
							t.Fatalf("rank %d worker %d: %d steps, want %d", rank, worker, len(all), want)
						}
						for _, x := range all {
							if c.workers == 1 && tail != shuffle.Short && len(x.ids) != c.batch {
								t.Fatalf("step %d of rank %d has %d rows", x.step, rank, len(x.ids))
							}
							for _, id := range x.ids[:x.valid] {
								seen[x.epoch][id]++
								total[id]++
							}
						}
						s.Close()
					}
				}
				if tail == shuffle.Carry {
					n := 0
					for id, k := range total {
						if n += k; k > epochs || id >= rows {
							t.Errorf("row %d came %d times", id, k)
						}
					}
					if int64(n) != want*g {
						t.Errorf("%d rows came, want %d", n, want*g)
					}
					return
				}
				for e := range seen {
					n := rows
					if tail == shuffle.Drop {
						n -= rows % g
					}
					if int64(len(seen[e])) != n {
						t.Errorf("epoch %d: %d rows, want %d", e, len(seen[e]), n)
					}
					for id, k := range seen[e] {
						if k != 1 {
							t.Errorf("epoch %d: row %d came %d times", e, id, k)
						}
					}
				}
			})
		}
	}
}

// Without shuffle step t is rows [tG, (t+1)G) and rank r has its r-th block.
func TestFileOrder(t *testing.T) {
	groups, rows := uneven()
	d := open(t, files(t, groups, noImage), Options{})
	for _, world := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("world size %d", world), func(t *testing.T) {
			for rank := range world {
				var want, got []int64
				for at := int64(0); at+int64(world*8) <= rows; at += int64(world * 8) {
					for i := range int64(8) {
						want = append(want, at+int64(rank*8)+i)
					}
				}
				for _, x := range rest(t, stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, StreamOptions{BatchSize: 8})) {
					got = append(got, x.ids...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("world size %d, rank %d: %v, want %v", world, rank, got, want)
				}
			}
		})
	}
}

// A stream that is closed at a random moment, with draws out, leaves no goroutine, no memory and no
// reservation.
func TestCloseAtRandomMoments(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		d := open(t, store, Options{Order: Order{Shuffle: i%2 == 0, Lanes: r.IntN(5), Tail: "carry"}, ShuffleBuffer: Size{Rows: 200}})
		s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 1 + r.IntN(20), Epochs: -1, Draws: 5})
		var out []*Draw
		for range r.IntN(120) {
			if len(out) == 5 || len(out) > 0 && r.IntN(2) == 0 {
				k := r.IntN(len(out))
				ids(t, d.Schema(), out[k])
				out[k].Release()
				out = append(out[:k], out[k+1:]...)
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(300))*time.Microsecond)
			dr, err := s.Next(ctx)
			cancel()
			if err == nil {
				out = append(out, dr)
			} else if ctx.Err() == nil {
				t.Fatal(err)
			}
		}
		first := r.IntN(len(out) + 1)
		for _, dr := range out[:first] {
			dr.Release()
		}
		s.Close()
		for _, dr := range out[first:] {
			ids(t, d.Schema(), dr)
			dr.Release()
		}
		if n := d.options.Budget.Admitted(); n != 0 {
			t.Fatalf("%d bytes are still reserved", n)
		}
	}
}
