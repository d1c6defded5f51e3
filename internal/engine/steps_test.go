package engine

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/shuffle"
)

// The rows of bundled steps are those of single ones, for every rank and tail, over two epochs, the
// second of which is read ahead.
func TestBundle(t *testing.T) {
	const bundle = 64
	for _, world := range []int{1, 2, 4} {
		for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short} {
			t.Run(fmt.Sprint(world, tail), func(t *testing.T) {
				spec := testSpec()
				spec.BatchSize, spec.Tail = 1, tail
				e := testEngine(t, Options{})
				for rank := range world {
					sink := newSink(t, connect(t, e, "d", spec))
					for epoch := range 3 {
						j := wire.Join{Iteration: fmt.Sprint(epoch), Rank: rank, WorldSize: world, Bundle: bundle}
						joined := sink.join(j)
						single := shuffle.Steps{Rows: joined.State.Rows, GlobalBatch: int64(world), Tail: tail}
						if want := single.Count(0); joined.Bundle != bundle || joined.Steps != want {
							t.Errorf("joined %d steps, want %d; %d in a bundle", joined.Steps, want, joined.Bundle)
						}
						batches, end := sink.batches(-1)
						if end.State.Epoch != uint64(epoch)+1 || end.State.Position != 0 {
							t.Errorf("end %+v", end)
						}
						want := epochIDs(t, spec, rank, world, nil, epoch)
						got := idsOf(batches)
						if tail == shuffle.Drop { // the trainer leaves out what fills no step of one row each
							got = got[:len(want)]
						}
						same(t, fmt.Sprint("rank ", rank, " epoch ", epoch), got, want)
					}
				}
			})
		}
	}
}

// A state within a bundle is that of a step: the rows that follow it are the rest.
func TestStateWithinBundle(t *testing.T) {
	const world, bundle = 4, 32
	spec := testSpec()
	spec.BatchSize = 1
	e := testEngine(t, Options{})
	sink := newSink(t, connect(t, e, "d", spec))
	joined := sink.join(wire.Join{Iteration: "1", Rank: 2, WorldSize: world, Bundle: bundle})
	batches, _ := sink.batches(-1)
	all := idsOf(batches)
	for _, n := range []int{1, 31, 32, 33, 100} {
		state := joined.State
		state.Position = batches[n/bundle].position + int64(n%bundle*world)
		same(t, fmt.Sprint("single, after ", n), epochIDs(t, spec, 2, world, &state, 0), all[n:])
		sink.join(wire.Join{Iteration: fmt.Sprint("again ", n), Rank: 2, WorldSize: world, Bundle: bundle, State: &state})
		rest, _ := sink.batches(-1)
		same(t, fmt.Sprint("bundled, after ", n), idsOf(rest), all[n:])
	}
}

// Steps stay single where bundles would change the rows.
func TestNoBundle(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*wire.Spec, *wire.Join)
		want   int
	}{
		{"not asked for", func(_ *wire.Spec, j *wire.Join) { j.Bundle = 0 }, 1},
		{"file order, alone", func(s *wire.Spec, j *wire.Join) { s.Shuffle, j.WorldSize = false, 1 }, 64},
		{"file order, ranks", func(s *wire.Spec, _ *wire.Join) { s.Shuffle = false }, 1},
		{"carry", func(s *wire.Spec, _ *wire.Join) { s.Tail = shuffle.Carry }, 1},
		{"lanes that are not divided", func(_ *wire.Spec, j *wire.Join) { j.WorldSize = 7 }, 1},
		{"far too many", func(_ *wire.Spec, j *wire.Join) { j.Bundle = 1 << 40 }, 1024},
		{"steps of many bytes", func(s *wire.Spec, _ *wire.Join) { s.BatchSize = 100 }, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, j := testSpec(), wire.Join{Iteration: "1", WorldSize: 2, Bundle: 64}
			spec.BatchSize = 1
			c.change(&spec, &j)
			sink := newSink(t, connect(t, testEngine(t, Options{}), "d", spec))
			if j.WorldSize == 7 { // begun at 1, gone on at 7
				first := sink.join(wire.Join{Iteration: "0", WorldSize: 1})
				sink.leave()
				j.State = &first.State
			}
			if joined := sink.join(j); joined.Bundle != c.want {
				t.Errorf("%d in a bundle, want %d", joined.Bundle, c.want)
			}
			sink.leave()
		})
	}
}

// Steps of one source each stay single: a bundle of them would be of one source.
func TestNoBundleOfStepsOfOneSource(t *testing.T) {
	for batching, want := range map[shuffle.Batching]int{shuffle.PerSource: 1, shuffle.Stratified: 64} {
		state := shuffle.State{MixState: &shuffle.MixState{Batching: batching, Lanes: 4}}
		if n := bundleOf(wire.Join{Bundle: 64, WorldSize: 1}, state, shuffle.Short, func(int) int64 { return 1 }); n != want {
			t.Errorf("%s: %d steps in a bundle, want %d", batching, n, want)
		}
	}
}
