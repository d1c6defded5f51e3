package shuffle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
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
	Seed    uint64
	Lanes   int
	Seeds   []uint64
	Counts  []json.RawMessage
	At      [][4]int64

	GlobalBatch int64 `json:"global_batch"`
	Tokens      []int64
	Steps       [][3]int64
}

// mixture of the line. Under PerSource sources have lanes of their own.
func (g *goldenMixture) mixture(t *testing.T) *Mixture {
	t.Helper()
	if g.GlobalBatch == 0 {
		return mixtureOf(t, g.Lanes, g.Rows, g.Weights, 100, g.Seed)
	}
	var sources []Source
	for d, s := range sourcesOf(t, 0, g.Rows, g.Seed) {
		p := newPlan(t, manifestOf([]int64{g.Rows[d]}), Options{Buffer: 5, Lanes: 1 + 2*d, Tail: Carry}, SourceSeed(g.Seed, d))
		sources = append(sources, Source{Name: s.Name, Plan: p})
	}
	o := MixtureOptions{Rows: 10 * g.GlobalBatch, Seed: g.Seed, Batching: PerSource, GlobalBatch: g.GlobalBatch}
	if len(g.Tokens) > 0 {
		o.Tokens = g.Tokens
	}
	m, err := NewMixture(sources, g.Weights, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Counts, sources and passes are those of the specification written in Python.
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
			for _, at := range g.At {
				checkGoldenPlace(t, m, at[0], at[1:])
			}
			for _, at := range g.Steps {
				checkGoldenStep(t, m.Steps(), at[0], int(at[1]), at[2])
			}
		})
	}
}

func checkGoldenPlace(t *testing.T, m *Mixture, x int64, want []int64) {
	t.Helper()
	slot, n := int(x%int64(m.Lanes())), x/int64(m.Lanes())
	lane := m.Lane(slot)
	d := lane.Walk(n).Next()
	sample := lane.Counts(n, nil)[d]
	e, row := m.Pass(d, slot, sample)
	if got := []int64{int64(d), int64(e), row}; !slices.Equal(got, want) {
		t.Errorf("sample %d is source, pass and lane row %v, want %v", x, got, want)
	}
	if got := lane.Row(d, sample); got != n {
		t.Errorf("sample %d of source %d comes at row %d of its lane, want %d", sample, d, got, n)
	}
}

func checkGoldenStep(t *testing.T, steps *MixLane, n int64, source int, number int64) {
	t.Helper()
	if d := steps.Walk(n).Next(); d != source || steps.Counts(n, nil)[d] != number {
		t.Errorf("step %d is number %d of source %d, want %d of %d", n, steps.Counts(n, nil)[d], d, number, source)
	}
	if got := steps.Row(source, number); got != n {
		t.Errorf("step %d of source %d is step %d, want %d", number, source, got, n)
	}
}

func TestGoldenMixturesAreGenerated(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the generator")
	}
	cmd := exec.Command(python, "-B", "mixtures.py")
	cmd.Dir = "testdata"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile("testdata/mixtures.jsonl"); err != nil || !bytes.Equal(out, want) {
		t.Errorf("testdata/mixtures.py prints other lines than testdata/mixtures.jsonl has (%v)", err)
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

// mixedRow is a row of a pass over a source.
type mixedRow struct {
	source int
	pass   uint64
	testRow
}

// mixedRows are the first samples of a mixture.
func mixedRows(t *testing.T, m *Mixture, n int64) []mixedRow {
	t.Helper()
	type pass struct {
		source, slot int
		epoch        uint64
	}
	lanes := map[pass][]testRow{}
	out := make([]mixedRow, n)
	for slot := range m.Lanes() {
		lane := m.Lane(slot)
		walk, taken := lane.Walk(0), make([]int64, len(m.Sources()))
		for x := int64(slot); x < n; x += int64(m.Lanes()) {
			d := walk.Next()
			e, row := m.Pass(d, slot, taken[d])
			key := pass{d, slot, e}
			if lanes[key] == nil {
				lanes[key] = laneRows(m.Sources()[d].Plan.Epoch(e).Lane(slot))
			}
			out[x] = mixedRow{d, e, lanes[key][row]}
			taken[d]++
		}
	}
	return out
}

// Each row of a source comes once in each pass, and all rows of a pass come that is over in all
// lanes, whatever the weights are and however they change.
func TestMixtureHasEachRowOncePerPass(t *testing.T) {
	r := newRNG("test", 11)
	for trial := range 60 {
		lanes := []int{1, 2, 3, 4, 6, 8, 12}[r.below(7)]
		rows := make([]int64, 1+r.below(5))
		for d := range rows {
			rows[d] = []int64{1, 3, 17, 50, 211}[r.below(5)]
		}
		weights := randomWeights(&r, len(rows))
		m := mixtureOf(t, lanes, rows, weights, 1+int64(r.below(500)), uint64(trial))
		seen := map[mixedRow]bool{}
		of := make([]map[uint64]int64, len(rows))
		for d := range of {
			of[d] = map[uint64]int64{}
		}
		const samples = 1200
		for _, x := range mixedRows(t, m, samples) {
			if seen[x] {
				t.Fatalf("trial %d: %+v comes twice", trial, x)
			}
			seen[x] = true
			of[x.source][x.pass]++
		}
		for d := range rows {
			first := uint64(math.MaxUint64) // the pass that the slowest lane is in
			for slot := range lanes {
				e, _ := m.Pass(d, slot, m.Lane(slot).Counts(rowsBefore(samples, slot, lanes), nil)[d])
				first = min(first, e)
			}
			for e := range first {
				if of[d][e] != rows[d] {
					t.Errorf("trial %d: pass %d over source %d of %d rows has %d", trial, e, d, rows[d], of[d][e])
				}
			}
		}
	}
}

// The walk, the counts and the least agree at every row, over all changes of the weights.
func TestMixLaneIsOneOrder(t *testing.T) {
	r := newRNG("test", 12)
	for range 40 {
		sources := 1 + int(r.below(6))
		rows := slices.Repeat([]int64{50}, sources)
		m := mixtureOf(t, 1+int(r.below(6)), rows, randomWeights(&r, sources), 100, r.uint64())
		for slot := range m.Lanes() {
			l := m.Lane(slot)
			walk, taken := l.Walk(0), make([]int64, sources)
			for n := range int64(500) {
				if got := l.Counts(n, nil); !slices.Equal(got, taken) {
					t.Fatalf("row %d: %v were taken, want %v", n, got, taken)
				}
				if walk.Row() != n {
					t.Fatalf("row %d is called %d", n, walk.Row())
				}
				d := walk.Next()
				if from := l.Walk(n).Next(); from != d {
					t.Fatalf("row %d is of %d on the way and of %d from there on", n, d, from)
				}
				if got := l.Row(d, taken[d]); got != n {
					t.Fatalf("sample %d of %d is row %d, want %d", taken[d], d, got, n)
				}
				taken[d]++
			}
		}
	}
}

// A source that has no weight any more never comes again.
func TestMixtureNever(t *testing.T) {
	m := mixtureOf(t, 2, []int64{10, 10}, []Weights{{0, []float64{1, 1}}, {100, []float64{0, 1}}}, 50, 0)
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
	m := mixtureOf(t, lanes, []int64{100, 30}, []Weights{{0, []float64{2, 1}}}, 77, 5)
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
	m := r.over(lanes, seed)
	for slot := range lanes {
		walk := m.lane(slot).walk(0)
		for x := slot; x < samples; x += lanes {
			items[x] = uint8(walk.next())
		}
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

func TestEpochRows(t *testing.T) {
	for _, c := range []struct {
		weights    []float64
		rows       []int64
		first, all int64
	}{
		{[]float64{1, 1}, []int64{10, 30}, 20, 60},
		{[]float64{3, 1}, []int64{300, 50}, 200, 400},
		{[]float64{1, 0}, []int64{7, 0}, 7, 7},
	} {
		r, err := NewRatio(c.weights)
		if err != nil {
			t.Fatal(err)
		}
		first, err1 := r.EpochRows(StopFirst, c.rows)
		all, err2 := r.EpochRows(StopAll, c.rows)
		if first != c.first || all != c.all || err1 != nil || err2 != nil {
			t.Errorf("%v of %v: %d and %d, want %d and %d (%v, %v)", c.weights, c.rows, first, all, c.first, c.all, err1, err2)
		}
	}
}

// What an epoch's stop promises holds within a sample of each lane.
func TestStopHolds(t *testing.T) {
	r := newRNG("test", 13)
	for range 50 {
		rows := []int64{20 + int64(r.below(500)), 20 + int64(r.below(500)), 20 + int64(r.below(500))}
		weights := []float64{1 + float64(r.below(9)), 1 + float64(r.below(9)), 1 + float64(r.below(9))}
		ratio, err := NewRatio(weights)
		if err != nil {
			t.Fatal(err)
		}
		const lanes = 8
		for stop, over := range map[Stop]func(left []int64) bool{
			StopFirst: func(left []int64) bool { return slices.Min(left) <= lanes && slices.Min(left) >= -lanes },
			StopAll:   func(left []int64) bool { return slices.Max(left) <= lanes },
		} {
			n, err := ratio.EpochRows(stop, rows)
			if err != nil {
				t.Fatal(err)
			}
			left := mixtureOf(t, lanes, rows, []Weights{{0, weights}}, n, 1).Counts(n, nil)
			for d := range left {
				left[d] = rows[d] - left[d]
			}
			if !over(left) {
				t.Errorf("%s with weights %v of %v: %v are left after %d", stop, weights, rows, left, n)
			}
		}
	}
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
	sources, weights := sourcesOf(t, 2, []int64{10, 20}, 1), []Weights{{0, []float64{1, 1}}}
	for _, c := range []struct {
		name string
		o    MixtureOptions
		want string
	}{
		{"another batching", MixtureOptions{Rows: 10, Batching: "random"}, `must be "stratified" or "per_source", got "random"`},
		{"no steps", MixtureOptions{Rows: 10, Batching: PerSource}, "must be those of whole steps"},
		{"a part of a step", MixtureOptions{Rows: 10, Batching: PerSource, GlobalBatch: 4}, "got 10 in steps of 4"},
		{"tokens of one", MixtureOptions{Rows: 10, Tokens: []int64{1}}, "each of 2 sources, got 1"},
		{"no tokens", MixtureOptions{Rows: 10, Tokens: []int64{1, 0}}, `"s1" has none`},
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
	one := []Weights{{0, []float64{1, 0}}}
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
		{"no rows", two, []Weights{{0, []float64{1, 1}}}, 10, `"s1" has no rows`},
		{"no weights", two, nil, 10, "weights"},
		{"weights that begin late", two, []Weights{{5, []float64{1, 0}}}, 10, "must begin at sample 0, got 5"},
		{"weights that go back", two, []Weights{one[0], {9, one[0].Weights}, {9, one[0].Weights}}, 10, "ascending samples"},
		{"too few weights", two, []Weights{{0, []float64{1}}}, 10, "one for each of 2 sources, got 1"},
		{"NaN", two, []Weights{{0, []float64{math.NaN(), 1}}}, 10, "got NaN"},
		{"negative", two, []Weights{{0, []float64{1, -1}}}, 10, "got -1"},
		{"all 0", two, []Weights{{0, []float64{0, 0}}}, 10, "one above 0"},
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
