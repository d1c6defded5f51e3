package iterable

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// All problems of a mixture's options are in one error, each with its field.
func TestSourcesValidate(t *testing.T) {
	a := Source{Name: "a", Addresses: []string{"mem://a/"}, Weight: 1}
	with := func(change func(*Source)) Source {
		s := a
		change(&s)
		return s
	}
	weights := func(from int64, name string, w float64) []WeightChange {
		return []WeightChange{{From: from, Weights: map[string]float64{name: w}}}
	}
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"nothing wrong", Options{Sources: []Source{a}, Order: Order{Shuffle: true}}, nil},
		{"no shuffle", Options{Sources: []Source{a}}, []string{"sources need shuffle"}},
		{"no name", Options{Sources: []Source{with(func(s *Source) { s.Name = "" })}, Order: Order{Shuffle: true}}, []string{`sources[0] must be a name of its own, got ""`}},
		{"a name twice", Options{Sources: []Source{a, a}, Order: Order{Shuffle: true}}, []string{`sources[1] must be a name of its own, got "a"`}},
		{"no addresses", Options{Sources: []Source{with(func(s *Source) { s.Addresses = nil })}, Order: Order{Shuffle: true}}, []string{`sources["a"] addresses must name`}},
		{"weights", Options{Order: Order{Shuffle: true}, Sources: []Source{
			with(func(s *Source) { s.Weight = 0 }), with(func(s *Source) { s.Name, s.Weight = "b", -1 }), with(func(s *Source) { s.Name, s.Weight = "c", math.NaN() }),
			with(func(s *Source) { s.Name, s.Weight = "d", math.Inf(1) }),
		}}, []string{`sources["a"] weight must be a number above 0, got 0`, `sources["b"] weight must be a number above 0, got -1`, `sources["c"] weight must`, "got NaN", "got +Inf"}},
		{"weight and repeat", Options{Order: Order{Shuffle: true}, Sources: []Source{a, with(func(s *Source) { s.Name, s.Weight, s.Repeat = "b", 0, 2 })}}, []string{`sources["a"] weight contradicts repeat and choose`}},
		{"repeat and choose", Options{Order: Order{Shuffle: true}, Sources: []Source{with(func(s *Source) { s.Weight, s.Repeat, s.Choose = 0, 2, 5 })}}, []string{`sources["a"] repeat contradicts choose`}},
		{"a repeat below 0", Options{Order: Order{Shuffle: true}, Sources: []Source{with(func(s *Source) { s.Weight, s.Repeat = 0, -2 })}}, []string{`sources["a"] repeat must be a number above 0, got -2`}},
		{"a filter", Options{Order: Order{Shuffle: true}, Sources: []Source{with(func(s *Source) { s.Filters = "x >" })}}, []string{`sources["a"] filters at column 4`}},
		{"a part", Options{Order: Order{Shuffle: true}, Sources: []Source{with(func(s *Source) { s.Split.Part = "val" })}}, []string{`sources["a"] part needs parts`}},
		{"renaming to nothing", Options{Order: Order{Shuffle: true}, Sources: []Source{with(func(s *Source) { s.Rename = map[string]string{"x": ""} })}}, []string{`sources["a"] rename must`}},
		{"stop", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{Stop: "last"}}, []string{`stop must be first or all, got "last"`}},
		{"stop and epoch_size", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{Stop: "all", EpochSize: 5}}, []string{"stop says how long an epoch is, and so does epoch_size"}},
		{"stop and choose", Options{Order: Order{Shuffle: true}, Mixing: Mixing{Stop: "all"}, Sources: []Source{with(func(s *Source) { s.Weight, s.Choose = 0, 5 })}}, []string{"stop says how long an epoch is, and so do repeat and choose"}},
		{"a curriculum without epoch_size", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{Curriculum: weights(5, "a", 2)}}, []string{"curriculum needs epoch_size"}},
		{"a curriculum of others", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{EpochSize: 9, Curriculum: weights(5, "b", 2)}}, []string{`curriculum[0] has a weight of "b", which is none of the sources ["a"]`}},
		{"a curriculum from 0", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{EpochSize: 9, Curriculum: weights(0, "a", 2)}}, []string{"curriculum[0] must be from a sample after 0 on, got 0"}},
		{"a negative weight later", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{EpochSize: 9, Curriculum: weights(5, "a", -2)}}, []string{"curriculum[0] must have weights of at least 0, got -2"}},
		{"no weights later", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{EpochSize: 9, Curriculum: []WeightChange{{From: 5}}}}, []string{"curriculum[0] must give at least one source a weight"}},
		{"no weight above 0 later", Options{Order: Order{Shuffle: true}, Sources: []Source{a}, Mixing: Mixing{EpochSize: 9, Curriculum: append(weights(5, "a", 0), weights(7, "a", 1)...)}}, []string{"curriculum[0] must leave one source a weight above 0"}},
		{"what is of each source", Options{
			Order: Order{Shuffle: true}, Sources: []Source{a}, Choice: Choice{Filters: "x > 1", Split: rule.Split{Subsample: 0.5}}, Weight: "w",
		}, []string{"filters is an option of each of sources", "subsample is an option of each", "weight says how often a row comes: give it as row_weight"}},
		{"without sources", Options{Mixing: Mixing{Stop: "all", EpochSize: 5, Curriculum: weights(5, "a", 1)}}, []string{
			"stop is of several sources", "epoch_size is of several sources", "curriculum is of several sources",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.Validate()
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got := option.Spelled(err, option.Argument)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nlacks %s", got, want)
				}
			}
		})
	}
}

func TestSourcesOfWrongData(t *testing.T) {
	store := &memstore.Store{}
	good := mixtureSources(t, store, []int{60, 20}, []float64{1, 1})
	sourceFiles(t, store, 9, [][]int{{0}})
	with := func(change func(*Source)) []Source {
		all := slices.Clone(good)
		change(&all[1])
		return all
	}
	for _, c := range []struct {
		name    string
		sources []Source
		want    string
	}{
		{"no rows", with(func(s *Source) { s.Addresses = []string{"mem://s9/"} }), `source "s1": it has no rows; leave it out`},
		{"no rows kept", with(func(s *Source) { s.Filters = "id < 0" }), `source "s1": filters must keep at least one row, got none of 20`},
		{"no column", with(func(s *Source) { s.Filters = "score < 0" }), `source "s1": filters names column "score", which the data does not have`},
		{"no file", with(func(s *Source) { s.Addresses = []string{"mem://nothing/"} }), `source "s1": `},
		{"too little of it", with(func(s *Source) { s.Weight, s.Repeat = 0, 0.01 }), `source "s1": no sample of 20 comes in an epoch`},
		{"a name that is there", with(func(s *Source) { s.Rename = map[string]string{"id": "label"} }), `"label"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sources[1].Repeat > 0 {
				c.sources[0].Weight, c.sources[0].Repeat = 0, 1
			}
			_, err := Open(t.Context(), shard.Stores{"mem": store}, nil, Options{Order: Order{Shuffle: true}, Sources: c.sources})
			if err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.want) {
				t.Errorf("error %v lacks %s", err, c.want)
			}
		})
	}
}

// What is of one data set alone is refused with the way out.
func TestMixtureHasNot(t *testing.T) {
	store := &memstore.Store{}
	d := openMixture(t, store, Options{Sources: mixtureSources(t, store, []int{60, 20}, []float64{1, 1})})
	_, taker := d.Taker(TakerOptions{})
	_, selected := d.Select(t.Context(), nil)
	for name, err := range map[string]error{"Taker": taker, "Select": selected, "Select again": selected} {
		var e *OptionError
		if !errors.As(err, &e) || e.Field != "Sources" || !strings.Contains(e.Text, "open one of the sources") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://s0/"}, d.options); err == nil || !strings.Contains(err.Error(), "have addresses of their own") {
		t.Errorf("error %v", err)
	}
	if at, err := d.Locate(61); err != nil || !strings.HasPrefix(at.URI, "mem://s1/") || at.Row != 1 {
		t.Errorf("row 61 is at %+v, error %v", at, err)
	}
	if _, err := d.Locate(80); err == nil {
		t.Error("there is a row 80 of 80")
	}
}

// Streams of packed sources, and of parts of one table under several rules, have what their own
// data sets have.
func TestMixtureOfPackedSources(t *testing.T) {
	table := packRows(t, [][]int{{30, 30}, {40}, {20, 20, 20}}, randomDocuments(3))
	p := &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 64, "mask": 64}, Strategy: rule.BestFitSplit}}
	of := func(name string, filters string) Source {
		return Source{Name: name, Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: filters}}
	}
	columns := []string{"id", "tokens", "mask", "n", "label", "tags"}
	o := Options{Pack: p, Reading: Reading{Columns: columns}, Sources: []Source{of("even", "id % 2 = 0"), of("odd", "id % 2 = 1")}, ShuffleBuffer: Size{Rows: 1000}, Order: Order{Lanes: 4}}
	o.Sources[0].Filters, o.Sources[1].Filters = "hash(id, 1) % 2 = 0", "hash(id, 1) % 2 = 1"
	d := openMixture(t, table.store, o)
	so := StreamOptions{BatchSize: 4, Tail: shuffle.Short, Epochs: 2}
	whole, _ := packedSteps(t, d, 1, 1, so, 0)
	parts, _ := packedSteps(t, d, 2, 1, StreamOptions{BatchSize: 2, Tail: shuffle.Short, Epochs: 2}, 0)
	if len(whole) == 0 || len(whole) != len(parts) {
		t.Fatalf("%d and %d steps", len(whole), len(parts))
	}
	for i := range whole {
		if !slices.EqualFunc(whole[i], parts[i], func(a, b packedBlock) bool { return a.Tokens == b.Tokens && a.IDs == b.IDs }) {
			t.Fatalf("step %d differs between one rank and two", i)
		}
	}
}
