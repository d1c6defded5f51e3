package iterable

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Every option that a state has is compared with it, for one data set and for a mixture.
func TestContradictions(t *testing.T) {
	store := &memstore.Store{}
	sources := mixtureSources(t, store, []int{400, 900}, []float64{3, 1})
	weighted := func(first, second float64) []Source {
		all := slices.Clone(sources)
		all[0].Weight, all[1].Weight = first, second
		return all
	}
	chosen := func(first int64) []Source {
		all := weighted(0, 0)
		all[0].Choose = first
		return all
	}
	plain := Options{Order: Order{Shuffle: true, Seed: 1, Lanes: 2, UnitRows: 10, Start: shuffle.Direct, Spread: 1, Assign: shuffle.PerEpoch}, ShuffleBuffer: Size{Rows: 100}}
	mixed := plain
	mixed.Sources, mixed.Stop = sources, shuffle.StopAll
	sized, counted, steps := mixed, mixed, mixed
	sized.Stop, sized.EpochSize, sized.Curriculum = "", 500, []WeightChange{{From: 90, Weights: map[string]float64{"s1": 2}}}
	counted.Stop, counted.Sources = "", chosen(50)
	steps.Batching = shuffle.PerSource

	for _, c := range []struct {
		what string
		then Options
		here func(o *Options)
		want string // fields and values
	}{
		{"seed", plain, func(o *Options) { o.Seed = 2 }, "Seed: 1, here 2"},
		{"shuffle", plain, func(o *Options) { *o = Options{Order: Order{Seed: 1}} }, "Shuffle: true, here false"},
		{"lanes", plain, func(o *Options) { o.Lanes = 4 }, "Lanes: 2, here 4"},
		{"unit rows", plain, func(o *Options) { o.UnitRows = 7 }, "UnitRows: 10, here 7"},
		{"start", plain, func(o *Options) { o.Start = shuffle.Filled }, "Start: direct, here filled"},
		{"spread", plain, func(o *Options) { o.Spread = 3 }, "Spread: 1, here 3"},
		{"assign", plain, func(o *Options) { o.Assign = shuffle.Sticky }, "Assign: epoch, here sticky"},
		{"buffer", plain, func(o *Options) { o.ShuffleBuffer.Rows = 50 }, "ShuffleBuffer: 100 rows, here 50 rows"},
		{"buffer in bytes", plain, func(o *Options) { o.ShuffleBuffer = Size{Bytes: 1} }, "ShuffleBuffer: 100 rows, here 1 rows"},
		{"buffer per rank", plain, func(o *Options) { o.ShuffleBuffer = Size{Rows: 1, Per: PerRank} }, ""},
		{"nothing set", plain, func(o *Options) { *o = Options{Order: Order{Shuffle: true, Seed: 1}} }, ""},

		{"lanes of a mixture", mixed, func(o *Options) { o.Lanes = 4 }, "Lanes: 2, here 4"},
		{"lanes of each source", steps, func(o *Options) { o.Lanes = 4 }, "Lanes: 2, here 4"},
		{"unit rows of a mixture", mixed, func(o *Options) { o.UnitRows = 7 }, "UnitRows: 10, here 7"},
		{"start of a mixture", mixed, func(o *Options) { o.Start = shuffle.Filled }, "Start: direct, here filled"},
		{"buffer of a mixture", mixed, func(o *Options) { o.ShuffleBuffer.Rows = 50 }, "ShuffleBuffer: 100 rows, here 49 rows"},
		{"stop", mixed, func(o *Options) { o.Stop = "" }, "Stop: epochs of 3600 rows, here epochs of 533 rows"},
		{"stop of steps", steps, func(o *Options) { o.Stop = shuffle.StopFirst }, "Stop: epochs of 3570 rows, here epochs of 530 rows"},
		{"size for stop", mixed, func(o *Options) { o.Stop, o.EpochSize = "", 700 }, "EpochSize: 3600, here 700"},
		{"size", sized, func(o *Options) { o.EpochSize = 501 }, "EpochSize: 500, here 501"},
		{"weights", sized, func(o *Options) { o.Sources = weighted(3, 5) }, "Sources: s0=3, s1=1, here s0=3, s1=5"},
		{"curriculum", sized, func(o *Options) { o.Curriculum = []WeightChange{{From: 91, Weights: map[string]float64{"s1": 2}}} }, "Curriculum: s0=3, s1=2 from sample 90 on, here s0=3, s1=2 from sample 91 on"},
		{"no curriculum", sized, func(o *Options) { o.Curriculum = nil }, ""},
		{"choose", counted, func(o *Options) { o.Sources = chosen(60) }, "Sources: s0=50, s1=900, here s0=60, s1=900\nStop: epochs of 950 rows, here epochs of 960 rows"},
		{"nothing of a mixture set", sized, func(o *Options) {
			*o = Options{Sources: o.Sources, Order: Order{Seed: 1}, Mixing: Mixing{EpochSize: 500}}
		}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			open := func(o Options) *Dataset {
				if o.Sources == nil {
					d, err := Open(t.Context(), shard.Stores{"mem": store}, sources[0].Addresses, o)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { closeWhole(t, d) })
					return d
				}
				return openMixture(t, store, o)
			}
			stream, err := open(c.then).Stream(t.Context(), shuffle.Worker{WorldSize: 1, Workers: 1}, StreamOptions{BatchSize: 10})
			if err != nil {
				t.Fatal(err)
			}
			state := stream.State()
			if err := stream.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			here := c.then
			c.here(&here)
			for _, differs := range open(here).Contradictions(state) {
				got = append(got, differs.Field+": "+differs.Saved+", here "+differs.Here)
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if same := open(c.then).Contradictions(state); same != nil {
				t.Errorf("the same options: %v", same)
			}
		})
	}
}

// Weights that were set during the run contradict nothing.
func TestWeightsThatWereSetContradictNothing(t *testing.T) {
	store := &memstore.Store{}
	d := openMixture(t, store, Options{Sources: mixtureSources(t, store, []int{400, 900}, []float64{3, 1}), Mixing: Mixing{EpochSize: 500}})
	stream, err := d.Stream(t.Context(), shuffle.Worker{WorldSize: 1, Workers: 1}, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state := stream.State()
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	planned := slices.Clone(state.Weights)
	for _, weights := range [][]shuffle.Weights{
		{{Weights: []float64{1, 1}, Set: true}},
		append(planned, shuffle.Weights{From: 20, Weights: []float64{1, 1}, Set: true}),
	} {
		state.Weights = weights
		if got := d.Contradictions(state); got != nil {
			t.Errorf("%v: %v", weights, got)
		}
	}
}
