package iterable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// idsOf is what package shuffle says the ids of an epoch are, by position.
func idsOf(p *shuffle.Plan, firstID []int64, epoch uint64) []int64 {
	e := p.Epoch(epoch)
	lanes := make([][]int64, p.Params().Lanes)
	for slot := range lanes {
		l := e.Lane(slot)
		it, t := l.Iter(), shuffle.Tick{}
		rows := make([][]uint32, l.Spans())
		for it.Next(&t) {
			for _, x := range t.Picks {
				if rows[x.Span] == nil {
					rows[x.Span] = l.RowOrder(int(x.Span), nil)
				}
				sp := l.Span(int(x.Span))
				u := p.Units().At(sp.Unit)
				lanes[slot] = append(lanes[slot], firstID[u.Group]+u.Lo+sp.From+int64(rows[x.Span][x.Seq]))
			}
		}
	}
	out := make([]int64, p.Rows())
	for i := range out {
		slot := e.Slot(int64(i))
		out[i], lanes[slot] = lanes[slot][0], lanes[slot][1:]
	}
	return out
}

// Streams of random settings deliver the order that package shuffle defines, step by step, at any
// world size and number of workers.
func TestStreamsAreTheOrder(t *testing.T) {
	groups, rows := uneven()
	store := files(t, groups, noImage)
	r := rand.New(rand.NewPCG(8, 1))
	for range 45 {
		world, workers, batch := 1+r.IntN(6), 1+r.IntN(3), 1+r.IntN(12)
		o := Options{
			Order: Order{Shuffle: true, Seed: r.Uint64(), Tail: []shuffle.Tail{"drop", "pad", "short", "carry"}[r.IntN(4)], Start: []shuffle.Start{"", "direct"}[r.IntN(2)], Spread: r.IntN(3), Assign: []shuffle.Assign{"", "epoch"}[r.IntN(2)]}, ShuffleBuffer: Size{Rows: 1 + r.Int64N(400)},
		}
		if r.IntN(2) == 0 {
			o.Lanes, o.UnitRows = 1+r.IntN(20), 1+r.Int64N(30)
		}
		t.Run(fmt.Sprintf("%d ranks, %d workers, batch %d, %+v", world, workers, batch, o.planOptions(world)), func(t *testing.T) {
			d := open(t, store, o)
			p, err := d.sources[0].plan(world, StreamOptions{Tail: o.Tail}, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			const epochs = 2
			firstID := make([]int64, len(d.sources[0].data.Groups))
			for g := 1; g < len(firstID); g++ {
				firstID[g] = firstID[g-1] + d.sources[0].data.Groups[g-1].Rows
			}
			if o.Tail == shuffle.Drop && rows < int64(world*batch) {
				return
			}
			all := append(idsOf(p, firstID, 3), idsOf(p, firstID, 4)...)
			so := StreamOptions{BatchSize: batch, Epoch: 3, Epochs: epochs}
			steps := idsOfSteps(t, d, world, workers, so)
			at := int64(0)
			for i, got := range steps {
				n := int64(world * batch)
				if left := rows - at%rows; o.Tail != shuffle.Carry {
					if n > left && o.Tail == shuffle.Drop { // the rest of the epoch is left out
						at, left = rows, rows
					}
					n = min(n, left)
				}
				want := slices.Clone(all[at : at+n])
				if world*workers > 1 {
					slices.Sort(want)
					slices.Sort(got)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: %v, want %v", i, got, want)
				}
				at += n
			}
			if g := int64(world * batch); int64(len(all))-at >= g {
				t.Errorf("%d rows did not come", int64(len(all))-at)
			}
		})
	}
}

// idsOfSteps returns the IDs of each step over all ranks and workers.
func idsOfSteps(t *testing.T, d *Dataset, world, workers int, so StreamOptions) (steps [][]int64) {
	t.Helper()
	for rank := range world {
		for worker := range workers {
			s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world, Worker: worker, Workers: workers}, so)
			for i, x := range rest(t, s) {
				if i == len(steps) {
					steps = append(steps, nil)
				}
				steps[i] = append(steps[i], x.ids[:x.valid]...)
			}
			s.Close()
		}
	}
	return steps
}
