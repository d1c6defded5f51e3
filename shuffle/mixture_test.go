package shuffle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// mixtureOf makes a mixture of sources that have so many rows each, in shards of several groups.
func mixtureOf(t testing.TB, lanes int, rows []int64, weights []Weights, epoch int64, seed uint64) *Mixture {
	t.Helper()
	m, err := NewMixture(sourcesOf(t, lanes, rows, seed), weights, MixtureOptions{Rows: epoch, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sourcesOf(t testing.TB, lanes int, rows []int64, seed uint64) (sources []Source) {
	t.Helper()
	for d, n := range rows {
		data := manifestOf([]int64{n / 3, n - n/3})
		p := newPlan(t, data, Options{Buffer: 1 + n/4, Lanes: lanes, Tail: Carry, UnitRows: 1 + n/9}, SourceSeed(seed, d))
		sources = append(sources, Source{Name: fmt.Sprintf("s%d", d), Plan: p})
	}
	return sources
}

// goldenMixture is a line of testdata/mixtures.jsonl.
type goldenMixture struct {
	Rows    []int64
	Weights []Weights
	InEpoch []int64 `json:"counts_in_epoch"`
	Seed    uint64
	Lanes   int
	Seeds   []uint64
	First   []int
	Counts  []json.RawMessage

	GlobalBatch int64 `json:"global_batch"`
	Tokens      []int64
}

// mixture of the line. Under PerSource sources have lanes of their own.
func (g *goldenMixture) mixture(t *testing.T) *Mixture {
	t.Helper()
	o := MixtureOptions{Rows: 100, Seed: g.Seed}
	if len(g.InEpoch) > 0 {
		o.Counts, o.Rows = g.InEpoch, 0
		for _, n := range g.InEpoch {
			o.Rows += n
		}
	}
	sources := sourcesOf(t, g.Lanes, g.Rows, g.Seed)
	if g.GlobalBatch > 0 {
		o.Batching, o.GlobalBatch = PerSource, g.GlobalBatch
		if o.Counts == nil {
			o.Rows = 10 * g.GlobalBatch
		}
		if len(g.Tokens) > 0 {
			o.Tokens = g.Tokens
		}
		for d := range sources {
			sources[d].Plan = newPlan(t, manifestOf([]int64{g.Rows[d]}), Options{Buffer: 5, Lanes: 1 + 2*d, Tail: Carry}, SourceSeed(g.Seed, d))
		}
	}
	m, err := NewMixture(sources, g.Weights, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Sources and counts are those of the specification written in Python.
func TestGoldenMixtures(t *testing.T) {
	data, err := os.ReadFile("testdata/mixtures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g goldenMixture
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%d sources, %d lanes, steps of %d", len(g.Rows), g.Lanes, g.GlobalBatch), func(t *testing.T) {
			m := g.mixture(t)
			for d, want := range g.Seeds {
				if got := SourceSeed(g.Seed, d); got != want {
					t.Errorf("source %d has seed %d, want %d", d, got, want)
				}
			}
			for _, c := range g.Counts {
				var x int64
				var want []int64
				if err := json.Unmarshal(c, &[]any{&x, &want}); err != nil {
					t.Fatal(err)
				}
				if got := m.Counts(x, nil); !slices.Equal(got, want) {
					t.Errorf("%v of the first %d, want %v", got, x, want)
				}
			}
			walk := m.all.Walk(0)
			for x, want := range g.First {
				if got := walk.Next(); got != want {
					t.Fatalf("%d is of source %d, want %d", x, got, want)
				}
			}
		})
	}
}

// randomWeights change up to twice.
func randomWeights(r *rng, sources int) (all []Weights) {
	from := int64(0)
	for range 1 + r.below(3) {
		w := make([]float64, sources)
		for d := range w {
			w[d] = float64(r.below(10))
		}
		w[r.below(uint64(sources))] = 1
		all = append(all, Weights{From: from, Weights: w})
		from += 1 + int64(r.below(400))
	}
	return all
}

// The walk, the counts and the rows agree in each lane and over all samples, over all changes of
// the weights, and each lane has its part of all samples.
func TestMixLaneIsOneOrder(t *testing.T) {
	r := newRNG("test", 12)
	for trial := range 60 {
		sources := 1 + int(r.below(6))
		rows := slices.Repeat([]int64{50}, sources)
		m := mixtureOf(t, 1+int(r.below(64)), rows, randomWeights(&r, sources), 100, r.uint64())
		const samples = 1000
		of := make([]int, samples)
		for x, walk := 0, m.all.Walk(0); x < samples; x++ {
			of[x] = walk.Next()
		}
		for slot := range m.Lanes() {
			checkMixLane(t, m.Lane(slot), sources, func(row int64) (source int, ok bool) {
				x := row*int64(m.Lanes()) + int64(slot)
				if x >= samples {
					return 0, false
				}
				return of[x], true
			})
		}
		checkMixLane(t, m.all, sources, func(x int64) (int, bool) { return of[min(x, samples-1)], x < samples })
		if t.Failed() {
			t.Fatalf("trial %d", trial)
		}
	}
}

func checkMixLane(t *testing.T, l *MixLane, sources int, want func(row int64) (source int, ok bool)) {
	t.Helper()
	walk, taken := l.Walk(0), make([]int64, sources)
	for n := int64(0); ; n++ {
		source, ok := want(n)
		if !ok {
			return
		}
		if got := l.Counts(n, nil); !slices.Equal(got, taken) {
			t.Fatalf("row %d: %v were taken, want %v", n, got, taken)
		}
		if d := walk.Next(); d != source || walk.Row() != n+1 {
			t.Fatalf("row %d is of %d, want %d", n, d, source)
		}
		if d := l.Walk(n).Next(); d != source {
			t.Fatalf("row %d is of %d from there on, want %d", n, d, source)
		}
		if got := l.Row(source, taken[source]); got != n {
			t.Fatalf("number %d of %d is row %d, want %d", taken[source], source, got, n)
		}
		taken[source]++
	}
}

// A source that has no weight any more never comes again.
func TestMixtureNever(t *testing.T) {
	m := mixtureOf(t, 2, []int64{10, 10}, []Weights{{From: 0, Weights: []float64{1, 1}}, {From: 100, Weights: []float64{0, 1}}}, 50, 0)
	l := m.Lane(0)
	n := l.Counts(1000, nil)[0]
	if l.Row(0, n-1) >= 50 || l.Row(0, n) != Never {
		t.Errorf("sample %d comes at row %d, and the next at %d", n-1, l.Row(0, n-1), l.Row(0, n))
	}
}

// All ranks and workers together take each sample of a step once, and of full steps equally many,
// for all world sizes that divide the lanes.
func TestMixtureDividesSteps(t *testing.T) {
	const lanes = 12
	m := mixtureOf(t, lanes, []int64{100, 30}, []Weights{{From: 0, Weights: []float64{2, 1}}}, 77, 5)
	for _, c := range []struct{ world, workers int }{{1, 1}, {2, 1}, {3, 2}, {4, 3}, {6, 1}, {12, 1}, {5, 1}, {7, 2}} {
		for x := range int64(40) {
			const rows = 60
			taken := map[[2]int64]int{}
			for rank := range c.world {
				var ofRank int64
				for worker := range c.workers {
					v, err := m.View(Worker{Rank: rank, WorldSize: c.world, Worker: worker, Workers: c.workers})
					if err != nil {
						t.Fatal(err)
					}
					var s Share
					v.StepAt(x, rows, &s)
					if n := v.RowsAt(x, rows); n != int64(len(s.Order)) {
						t.Fatalf("%d rows, foretold %d", len(s.Order), n)
					}
					ofRank += int64(len(s.Order))
					slots := v.Reads(rows)
					for _, take := range s.Takes {
						if !slices.Contains(slots, take.Slot) {
							t.Errorf("world %d: slot %d is read and was not foretold", c.world, take.Slot)
						}
						for n := range take.Rows {
							taken[[2]int64{int64(take.Slot), take.From + n}]++
						}
					}
				}
				if ofRank != rows/int64(c.world) && lanes%c.world == 0 {
					t.Errorf("rank %d of %d has %d rows", rank, c.world, ofRank)
				}
			}
			for k := range int64(rows) {
				if slot := (x + k) % lanes; taken[[2]int64{slot, (x + k) / lanes}] != 1 {
					t.Errorf("world %d: sample %d was taken %d times", c.world, x+k, taken[[2]int64{slot, (x + k) / lanes}])
				}
			}
			if len(taken) != rows {
				t.Errorf("%d samples of a step of %d", len(taken), rows)
			}
		}
	}
}

// The shares of all lanes together stay within 0.2 % of the weights over any 10,000 samples.
func TestMixtureKeepsItsProportions(t *testing.T) {
	harmonic := make([]float64, 20)
	for i := range harmonic {
		harmonic[i] = 1 / float64(i+1)
	}
	for _, c := range []struct {
		name    string
		weights []float64
	}{
		{"2", []float64{1, 1}},
		{"3", []float64{7, 2, 1}},
		{"5", []float64{50, 30, 15, 4, 1}},
		{"3 far apart", []float64{9000, 999, 1}},
		{"20", harmonic},
		{"20 alike", slices.Repeat([]float64{1}, 20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			worst := 0.0
			for _, lanes := range []int{1, 8, 64} {
				for seed := range uint64(3) {
					worst = max(worst, worstWindow(t, c.weights, lanes, seed))
				}
			}
			t.Logf("worst %.3f %% over 10,000 samples", 100*worst)
			if worst > 0.002 {
				t.Errorf("shares are off by %.3f %%", 100*worst)
			}
		})
	}
}

// worstWindow is by how much the share of a source differs at most over 10,000 samples in a row.
func worstWindow(t *testing.T, weights []float64, lanes int, seed uint64) float64 {
	t.Helper()
	const window, samples = 10_000, 400_000
	r, err := NewRatio(weights)
	if err != nil {
		t.Fatal(err)
	}
	items := make([]uint8, samples)
	walk := newDeal(r.weights, lanes, seed).row(0, 1).walk(0)
	for x := range items {
		items[x] = uint8(walk.next())
	}
	worst, in := 0.0, make([]int64, len(weights))
	for x, d := range items {
		in[d]++
		if x >= window {
			in[items[x-window]]--
		}
		if x < window-1 {
			continue
		}
		for d, n := range in {
			worst = max(worst, math.Abs(float64(n)/window-float64(r.weights[d])/wholeWeight))
		}
	}
	return worst
}

func TestPortions(t *testing.T) {
	for _, c := range []struct {
		name string
		size int64
		all  []Portion
		want []int64
	}{
		{"rows by weight", 1000, []Portion{{1 << 19, 5000, 5000}, {1 << 18, 5000, 5000}, {1 << 18, 5000, 5000}}, []int64{500, 250, 250}},
		{"bytes: samples stay equally long", 1200, []Portion{{1 << 19, 5000, 50000}, {1 << 19, 5000, 10000}}, []int64{100, 100}},
		{"what a small one leaves", 1000, []Portion{{1 << 19, 100, 100}, {1 << 19, 5000, 5000}}, []int64{100, 900}},
		{"all fit", 1000, []Portion{{1 << 19, 100, 100}, {1 << 19, 200, 200}}, []int64{100, 200}},
		{"never none", 1, []Portion{{1 << 19, 100, 100}, {1 << 19, 200, 200}, {0, 10, 10}}, []int64{1, 1, 1}},
		{"in three rounds", 1000, []Portion{{1 << 18, 10, 10}, {1 << 18, 300, 300}, {1 << 19, 9000, 9000}}, []int64{10, 300, 690}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Portions(c.size, c.all); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Weights in tokens are exact: 2^20 samples are divided as weight x samples / tokens says.
func TestTokenRatio(t *testing.T) {
	for _, c := range []struct {
		name            string
		weights         []float64
		samples, tokens []int64
		want            []int64
	}{
		{"as many tokens a sample", []float64{3, 1}, []int64{10, 20}, []int64{1000, 2000}, []int64{3 << 18, 1 << 18}},
		{"one has three times as many", []float64{1, 1}, []int64{10, 10}, []int64{300, 100}, []int64{1 << 18, 3 << 18}},
		{"none of one", []float64{1, 0}, []int64{10, 10}, []int64{300, 0}, []int64{1 << 20, 0}},
		{"beyond 64 bits", []float64{1e300, 1e300}, []int64{1 << 60, 1}, []int64{1 << 62, 4}, []int64{1 << 19, 1 << 19}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewTokenRatio(c.weights, c.samples, c.tokens)
			if err != nil || !slices.Equal(r.Weights(), c.want) {
				t.Errorf("%v, want %v (%v)", r.Weights(), c.want, err)
			}
		})
	}
}

// What is wrong with the options of a mixture is said.
func TestMixtureOptionsAreChecked(t *testing.T) {
	sources, weights := sourcesOf(t, 2, []int64{10, 20}, 1), []Weights{{From: 0, Weights: []float64{1, 1}}}
	for _, c := range []struct {
		name string
		o    MixtureOptions
		want string
	}{
		{"another batching", MixtureOptions{Rows: 10, Batching: "random"}, `must be "stratified" or "per_source", got "random"`},
		{"no steps", MixtureOptions{Rows: 10, Batching: PerSource}, "must make whole steps"},
		{"a part of a step", MixtureOptions{Rows: 10, Batching: PerSource, GlobalBatch: 4}, "whole steps of 4"},
		{"tokens of one", MixtureOptions{Rows: 10, Tokens: []int64{1}}, "each of 2 sources, got 1"},
		{"no tokens", MixtureOptions{Rows: 10, Tokens: []int64{1, 0}}, `"s1" has no tokens`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Seed = 1
			_, err := NewMixture(sources, weights, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
}

func TestNewMixtureRefuses(t *testing.T) {
	two := sourcesOf(t, 2, []int64{10, 0}, 1)
	same := []Source{two[0], {Name: "s0", Plan: two[1].Plan}}
	one := []Weights{{From: 0, Weights: []float64{1, 0}}}
	for _, c := range []struct {
		name    string
		sources []Source
		weights []Weights
		rows    int64
		want    string
	}{
		{"no sources", nil, one, 10, "must be 1 to 4096, got 0"},
		{"one name twice", same, one, 10, `must have a name each, got "s0"`},
		{"unlike lanes", []Source{two[0], sourcesOf(t, 4, []int64{10, 10}, 1)[1]}, one, 10, "must be the same for all sources"},
		{"another seed", sourcesOf(t, 2, []int64{10, 10}, 2), one, 10, "no plan of a mixture"},
		{"no rows", two, []Weights{{From: 0, Weights: []float64{1, 1}}}, 10, `"s1" has no rows`},
		{"no weights", two, nil, 10, "weights"},
		{"weights that begin late", two, []Weights{{From: 5, Weights: []float64{1, 0}}}, 10, "must start at sample 0, got 5"},
		{"weights that go back", two, []Weights{one[0], {From: 9, Weights: one[0].Weights}, {From: 9, Weights: one[0].Weights}}, 10, "ascending samples"},
		{"too few weights", two, []Weights{{From: 0, Weights: []float64{1}}}, 10, "one for each of 2 sources, got 1"},
		{"NaN", two, []Weights{{From: 0, Weights: []float64{math.NaN(), 1}}}, 10, "got NaN"},
		{"negative", two, []Weights{{From: 0, Weights: []float64{1, -1}}}, 10, "got -1"},
		{"all 0", two, []Weights{{From: 0, Weights: []float64{0, 0}}}, 10, "one above 0"},
		{"an epoch of nothing", two, one, 0, "epoch_size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewMixture(c.sources, c.weights, MixtureOptions{Rows: c.rows, Seed: 1})
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v lacks %q", err, c.want)
			}
		})
	}
}
