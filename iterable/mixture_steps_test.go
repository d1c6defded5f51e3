package iterable

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// With steps of one source each the sources have their shares of the steps, each step is of whole
// batches, and an epoch is of whole steps.
func TestPerSourceSteps(t *testing.T) {
	store := &memstore.Store{}
	sources := mixtureSources(t, store, []int{300, 100, 50}, []float64{5, 3, 2})
	for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		t.Run(string(tail), func(t *testing.T) {
			d := openMixture(t, store, Options{Sources: sources, Mixing: Mixing{EpochSize: 395, Batching: shuffle.PerSource}, Order: Order{Lanes: 2}})
			so := StreamOptions{BatchSize: 5, Tail: tail, Epochs: 2}
			if n, err := d.Len(5, 2, tail); n != 40 || err != nil {
				t.Errorf("%d steps of 10 in 395 samples, error %v", n, err)
			}
			steps := mixedSteps(t, d, 2, 1, so)
			if len(steps) != 80 {
				t.Fatalf("%d steps in two epochs, want 80", len(steps))
			}
			var counts [3]int
			for i, ids := range steps {
				source := ids[0] / sourceIDs
				counts[source]++
				if len(ids) != 10 || ids[len(ids)-1]/sourceIDs != source {
					t.Errorf("step %d has %v", i, ids)
				}
			}
			if max(counts[0]-40, 40-counts[0], counts[1]-24, 24-counts[1], counts[2]-16, 16-counts[2]) > 1 {
				t.Errorf("%v steps of the sources with weights 5, 3 and 2", counts)
			}
		})
	}
}

// A run with steps of one source each continues with batches that make the same steps, and says so
// where they do not; another batching is refused by its name.
func TestPerSourceStepsStayAsTheyAre(t *testing.T) {
	store := &memstore.Store{}
	o := Options{Sources: mixtureSources(t, store, []int{300, 100}, []float64{1, 1}), Mixing: Mixing{Batching: shuffle.PerSource, EpochSize: 95}}
	d := openMixture(t, store, o)
	state, err := d.Start(2, StreamOptions{BatchSize: 6})
	if err != nil {
		t.Fatal(err)
	}
	if state.Rows != 96 || state.GlobalBatch != 12 {
		t.Fatalf("state %s", state.JSON())
	}
	state.Position = 36
	if n := d.SourceSamples(state); n["s0"]+n["s1"] != 36 || n["s0"]%12 != 0 {
		t.Errorf("%v samples of 36", n)
	}
	stream(t, d, shuffle.Worker{WorldSize: 3}, StreamOptions{BatchSize: 4, State: &state})
	_, err = d.Stream(t.Context(), shuffle.Worker{WorldSize: 3}, StreamOptions{BatchSize: 5, State: &state})
	var e *OptionError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "BatchSize times the world size must be 12 as in the state, got 5 x 3") {
		t.Errorf("error %v", err)
	}
	o.Batching = ""
	_, err = openMixture(t, store, o).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 12, State: &state})
	if err == nil || !strings.Contains(err.Error(), "batching is per_source in the state and stratified here") {
		t.Errorf("error %v", err)
	}
}

// Samples that are blocks or batches are mixed by steps too.
func TestPerSourceOfPackedSources(t *testing.T) {
	table := packRows(t, [][]int{{30, 30}, {40}, {20, 20, 20}}, randomDocuments(3))
	of := func(name string, filters string) Source {
		return Source{Name: name, Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: filters}}
	}
	columns := []string{"id", "tokens", "mask", "n", "label", "tags"}
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"blocks", Options{Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 64, "mask": 64}, Strategy: rule.BestFitSplit}}}},
		{"batches", Options{Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 200}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			o.Columns, o.Batching, o.ShuffleBuffer, o.Lanes = columns, shuffle.PerSource, Size{Rows: 40}, 4
			o.Sources = []Source{of("some", "hash(id, 1) % 4 = 0"), of("most", "hash(id, 1) % 4 != 0")}
			d := openMixture(t, table.store, o)
			whole, _ := packedSteps(t, d, 1, 1, StreamOptions{BatchSize: 4, Epochs: 2}, 0)
			parts, _ := packedSteps(t, d, 2, 1, StreamOptions{BatchSize: 2, Epochs: 2}, 0)
			if len(whole) == 0 || len(whole) != len(parts) {
				t.Fatalf("%d and %d steps", len(whole), len(parts))
			}
			for i := range whole {
				if !slices.EqualFunc(whole[i], parts[i], func(a, b packedBlock) bool { return a.Tokens == b.Tokens && a.IDs == b.IDs }) {
					t.Fatalf("step %d differs between one rank and two", i)
				}
			}
		})
	}
}
