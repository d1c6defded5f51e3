package iterable

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// tokenSources are the short and the long documents of a table.
func tokenSources(short, long float64) []Source {
	of := func(name, filters string, weight float64) Source {
		return Source{Name: name, Addresses: []string{"mem://data/"}, Choice: Choice{Filters: filters}, Weight: weight}
	}
	return []Source{of("short", "len(tokens) between 1 and 20", short), of("long", "len(tokens) > 20", long)}
}

// With weights in tokens the tokens of the samples are in proportion, also of rows that rules keep.
func TestWeightsInTokens(t *testing.T) {
	table := packRows(t, [][]int{{300, 300}, {400}, {200, 200, 200}}, func(id int64) int {
		if id%3 == 0 {
			return 60 + int(id%11)
		}
		return 9 + int(id%5)
	})
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"rows", Options{Reading: Reading{Columns: []string{"id", "mask"}}, Mixing: Mixing{Tokens: "tokens"}}},
		{"rows that are read without the tokens", Options{Mixing: Mixing{Tokens: "tokens"}, Reading: Reading{Columns: []string{"id"}}}},
		{"the one list", Options{Reading: Reading{Columns: []string{"id", "tokens"}}}},
		{"steps of a source", Options{Reading: Reading{Columns: []string{"id"}}, Mixing: Mixing{Tokens: "tokens", Batching: shuffle.PerSource}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			o.Sources, o.WeightsIn, o.EpochSize, o.IndexDir = tokenSources(3, 1), InTokens, 3000, t.TempDir()
			for range 2 { // the second counts nothing
				d := openMixture(t, table.store, o)
				var tokens [2]float64
				for _, ids := range mixedSteps(t, d, 1, 1, StreamOptions{BatchSize: 8}) {
					for _, id := range ids {
						n := table.rows[id].N
						tokens[min(1, n/21)] += float64(n)
					}
				}
				if share := tokens[0] / (tokens[0] + tokens[1]); math.Abs(share-0.75) > 0.01 {
					t.Errorf("%.3f of the tokens are of short documents, want 0.75", share)
				}
			}
		})
	}
}

// The tokens of a source are exact, by footers as by reading lengths.
func TestTokensAreCounted(t *testing.T) {
	table := packRows(t, [][]int{{300, 300}, {400}}, func(id int64) int { return 1 + int(id%40) })
	whole := []Source{{Name: "a", Addresses: []string{"mem://data/part-000.parquet"}, Weight: 1}, {Name: "b", Addresses: []string{"mem://data/part-001.parquet"}, Weight: 1}}
	filtered := []Source{{Name: "a", Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: "id < 600"}}, {Name: "b", Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: "id >= 600"}}}
	for name, sources := range map[string][]Source{"footers": whole, "lengths": filtered} {
		for _, c := range []struct {
			name string
			o    Options
		}{
			{"rows", Options{Mixing: Mixing{Tokens: "tokens"}}},
			{"a bucket", Options{Bucket: &rule.Bucket{Columns: map[string]int{"tokens": 100}}}},
			{"a bucket by lengths", Options{Bucket: &rule.Bucket{Columns: map[string]int{"n": 100}}, Mixing: Mixing{Tokens: "tokens"}}},
		} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				c.o.Sources, c.o.WeightsIn, c.o.Columns = sources, InTokens, []string{"id", "tokens", "mask", "n"}
				d := openMixture(t, table.store, c.o)
				var want [2]int64
				for _, r := range table.rows {
					want[r.ID/600] += int64(r.N)
				}
				if !slices.Equal(d.blend.(*mixture).tokens, want[:]) {
					t.Errorf("%d tokens, want %d", d.blend.(*mixture).tokens, want)
				}
			})
		}
	}
	o := Options{Sources: whole, Mixing: Mixing{WeightsIn: InTokens}, Reading: Reading{Columns: []string{"tokens"}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 64}}}}
	d := openMixture(t, table.store, o)
	if want := []int64{64 * d.sources[0].samples, 64 * d.sources[1].samples}; !slices.Equal(d.blend.(*mixture).tokens, want) {
		t.Errorf("%d tokens of blocks, want %d", d.blend.(*mixture).tokens, want)
	}
}

// A state keeps the tokens that its weights were made of, whatever the data tells later, and a
// change of the weights is in tokens too.
func TestTokensStayThoseOfTheState(t *testing.T) {
	table := packRows(t, [][]int{{300, 300}, {400}}, randomDocuments(3))
	o := Options{Sources: tokenSources(1, 1), Mixing: Mixing{WeightsIn: InTokens, Tokens: "tokens", EpochSize: 500}, Reading: Reading{Columns: []string{"id"}}}
	d := openMixture(t, table.store, o)
	state, err := d.Start(1, StreamOptions{BatchSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	state.Position = 100
	state.MixState.Weights = append(state.Weights, shuffle.Weights{From: 200, Weights: []float64{1, 0.25}})
	state = *reparse(t, state)
	want := mixedSteps(t, d, 1, 1, StreamOptions{BatchSize: 10, State: &state})
	o.WeightsIn, o.Tokens = "", ""
	for name, d := range map[string]*Dataset{"weights in samples here": openMixture(t, table.store, o), "other tokens here": d} {
		t.Run(name, func(t *testing.T) {
			d.blend.(*mixture).tokens = slices.Clone(d.blend.(*mixture).tokens)
			for i := range d.blend.(*mixture).tokens {
				d.blend.(*mixture).tokens[i] = 1
			}
			if got := mixedSteps(t, d, 1, 1, StreamOptions{BatchSize: 10, State: &state}); !slices.EqualFunc(got, want, slices.Equal) {
				t.Error("the resume has other samples")
			}
		})
	}
}

// A plan says the shares of samples and of tokens.
func TestPlanOfTokens(t *testing.T) {
	table := packRows(t, [][]int{{300}}, func(id int64) int { return 10 + 20*int(id%2) })
	o := Options{Mixing: Mixing{WeightsIn: InTokens, Tokens: "tokens"}, Sources: []Source{
		{Name: "short", Addresses: []string{"mem://data/"}, Choice: Choice{Filters: "len(tokens) = 10"}, Weight: 1},
		{Name: "long", Addresses: []string{"mem://data/"}, Choice: Choice{Filters: "len(tokens) = 30"}, Weight: 1},
	}}
	p, err := openMixture(t, table.store, o).Plan(1, StreamOptions{BatchSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []PlanSource{{Share: 0.75, TokenShare: 0.5, TokensPerSample: 10}, {Share: 0.25, TokenShare: 0.5, TokensPerSample: 30}} {
		if s := p.Sources[i]; s.Share != want.Share || s.TokenShare != want.TokenShare || s.TokensPerSample != want.TokensPerSample {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}

func TestTokensRefuse(t *testing.T) {
	table := packRows(t, [][]int{{30}}, randomDocuments(3))
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"several lists", func(o *Options) { o.Columns = []string{"id", "tokens", "mask"} }, `weights_in "tokens" needs to know which lists are tokens, and there are tokens, mask: name one of them by tokens`},
		{"no list", func(o *Options) { o.Columns = []string{"id"} }, `weights_in "tokens" needs a column of lists whose items are tokens, and no column that is read is one: name it by tokens`},
		{"no list of numbers", func(o *Options) { o.Tokens = "label" }, "tokens must be a column of lists of fixed-width values, got "},
		{"no such column", func(o *Options) { o.Tokens = "words" }, "words"},
		{"a source without tokens", func(o *Options) { o.Tokens, o.Sources[0].Filters = "tokens", "len(tokens) = 0" }, `source "short": column "tokens" has no token`},
		{"of samples", func(o *Options) { o.WeightsIn, o.Tokens = "samples", "tokens" }, `tokens needs weights_in "tokens", got "tokens" alone`},
		{"another unit", func(o *Options) { o.WeightsIn = "bytes" }, `weights_in must be samples or tokens, got "bytes"`},
		{"another batching", func(o *Options) { o.Batching = "random" }, `batching must be stratified or per_source, got "random"`},
		{"of blocks", func(o *Options) {
			o.Tokens, o.Pack = "tokens", &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}}}
		}, "tokens contradicts pack"},
		{"of numbers of samples", func(o *Options) {
			for i := range o.Sources {
				o.Sources[i].Weight, o.Sources[i].Repeat = 0, 2
			}
		}, "weights_in contradicts repeat and choose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Sources: tokenSources(1, 1), Mixing: Mixing{WeightsIn: InTokens}, Order: Order{Shuffle: true}}
			c.change(&o)
			_, err := Open(t.Context(), shard.Stores{"mem": table.store}, nil, o)
			if err == nil || !strings.Contains(option.Spelled(err, option.Argument), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
	for _, o := range []Options{{Mixing: Mixing{Batching: shuffle.PerSource}}, {Mixing: Mixing{WeightsIn: InTokens}}, {Mixing: Mixing{Tokens: "tokens"}}} {
		var e *OptionError
		if err := o.Validate(); !errors.As(err, &e) || !strings.Contains(err.Error(), "is of several Sources") {
			t.Errorf("%s: error %v", fmt.Sprint(o.Batching, o.WeightsIn, o.Tokens), err)
		}
	}
}
