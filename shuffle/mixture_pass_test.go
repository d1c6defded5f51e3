package shuffle

import (
	"fmt"
	"slices"
	"testing"
)

// A passReader reads a mixture sample by sample, as all ranks together do, and sees that each row
// of a source comes once in each pass.
type passReader struct {
	t     *testing.T
	m     *Mixture
	x     int64
	taken []int64              // samples of each source
	lanes map[passLane]passRun // of the passes in progress
	seen  []map[testRow]bool   // of the pass in progress, by source
}

type passLane struct {
	source, slot int
	pass         uint64
}

type passRun struct {
	first int64
	rows  []testRow
}

func newPassReader(t *testing.T, m *Mixture) *passReader {
	r := &passReader{t: t, m: m, taken: make([]int64, len(m.sources)), lanes: map[passLane]passRun{}}
	for range m.sources {
		r.seen = append(r.seen, map[testRow]bool{})
	}
	return r
}

// read the next samples.
func (r *passReader) read(samples int64) {
	r.t.Helper()
	walk := r.m.all.Walk(r.x)
	for range samples {
		d := walk.Next()
		r.take(d)
		r.taken[d]++
		r.x++
		if r.taken[d]%r.m.sources[d].Plan.Rows() == 0 {
			r.over(d)
		}
	}
}

func (r *passReader) take(d int) {
	r.t.Helper()
	slot := int(r.x % int64(r.m.Lanes()))
	key := passLane{d, slot, uint64(r.taken[d] / r.m.sources[d].Plan.Rows())}
	run, ok := r.lanes[key]
	if !ok {
		p := r.m.Pass(d, key.pass)
		run = passRun{first: p.First[slot], rows: laneRows(p.Lane(slot))}
		r.lanes[key] = run
	}
	n := r.m.Lane(slot).Count(d, r.x/int64(r.m.Lanes())) - run.first
	if n < 0 || n >= int64(len(run.rows)) {
		r.t.Fatalf("sample %d is row %d of %d of pass %d over source %d at slot %d", r.x, n, len(run.rows), key.pass, d, slot)
	}
	row := run.rows[n]
	if r.seen[d][row] {
		r.t.Fatalf("sample %d: row %+v of source %d comes twice in pass %d", r.x, row, d, key.pass)
	}
	r.seen[d][row] = true
}

// over sees that a pass had all rows.
func (r *passReader) over(d int) {
	r.t.Helper()
	if n := r.m.sources[d].Plan.Rows(); int64(len(r.seen[d])) != n {
		r.t.Fatalf("sample %d: a pass over source %d of %d rows had %d", r.x, d, n, len(r.seen[d]))
	}
	clear(r.seen[d])
	for key := range r.lanes {
		if key.source == d {
			delete(r.lanes, key)
		}
	}
}

// set makes the mixture continue with other weights.
func (r *passReader) set(w []float64) {
	r.t.Helper()
	var weights []Weights
	for _, old := range r.m.weights {
		if old.From < r.x || old.From == r.x && !old.Set {
			weights = append(weights, old)
		}
	}
	weights = append(weights, Weights{From: r.x, Weights: w, Set: r.x > 0})
	if r.x == 0 {
		weights = weights[len(weights)-1:]
	}
	for _, old := range r.m.weights {
		if old.From > r.x {
			weights = append(weights, old)
		}
	}
	m, err := NewMixture(r.m.sources, weights, r.m.options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.m = m
	clear(r.lanes)
}

// A pass over a source has each of its rows once, and the next begins with the sample after its
// last, in all lanes: with any number of lanes, tiny sources, extreme weights, counts in an epoch,
// weights that change as planned and weights that are set anywhere.
func TestPassesAreExact(t *testing.T) {
	for n := range cases(t, 120) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := newRNG("test", 31, n)
			rows := make([]int64, 1+r.below(5))
			for d := range rows {
				rows[d] = []int64{1, 2, 3, 17, 64, 211, 500}[r.below(7)]
			}
			lanes := []int{1, 2, 3, 4, 6, 8, 12, 31, 64}[r.below(9)]
			weights, epoch := randomWeights(&r, len(rows)), 1+int64(r.below(900))
			if r.below(4) == 0 {
				weights[0].Weights[r.below(uint64(len(rows)))] = []float64{1e-9, 1e9}[r.below(2)]
			}
			o := MixtureOptions{Rows: epoch, Seed: n}
			if r.below(2) == 0 {
				o.Rows, o.Counts = 0, make([]int64, len(rows))
				for d := range rows {
					o.Counts[d] = 1 + int64(r.below(uint64(2*rows[d])))
					o.Rows += o.Counts[d]
				}
			}
			m, err := NewMixture(sourcesOf(t, lanes, rows, n), weights, o)
			if err != nil {
				t.Fatal(err)
			}
			reader := newPassReader(t, m)
			for range 1 + r.below(5) {
				reader.read(int64(r.below(700)))
				w := randomWeights(&r, len(rows))[0].Weights
				if r.below(3) > 0 {
					reader.set(w)
				}
			}
			reader.read(1500)
		})
	}
}

// What is left of a pass, where weights were set within, is the same wherever it is asked for.
func TestRestOfAPassIsAFunction(t *testing.T) {
	weights := []Weights{{Weights: []float64{3, 1}}, {From: 70, Weights: []float64{1, 1}, Set: true}, {From: 131, Weights: []float64{1, 9}, Set: true}}
	a, b := mixtureOf(t, 8, []int64{211, 500}, weights, 100, 5), mixtureOf(t, 8, []int64{211, 500}, weights, 100, 5)
	for slot := range 8 {
		p, q := a.Pass(1, 0), b.Pass(1, 0)
		if !slices.Equal(p.First, q.First) || !slices.Equal(laneRows(p.Lane(slot)), laneRows(q.Lane(slot))) {
			t.Errorf("slot %d differs", slot)
		}
	}
}

// Epochs have the samples of each source that their counts say, each of them.
func TestEpochsHaveTheirCounts(t *testing.T) {
	for n := range cases(t, 60) {
		r := newRNG("test", 32, n)
		counts, total := make([]int64, 1+r.below(20)), int64(0)
		for d := range counts {
			counts[d] = 1 + int64(r.below(1<<r.below(14)))
			total += counts[d]
		}
		lanes := 1 + int(r.below(64))
		m, err := NewMixture(sourcesOf(t, lanes, counts, n), []Weights{{Weights: slices.Repeat([]float64{1}, len(counts))}},
			MixtureOptions{Rows: total, Counts: counts, Seed: n})
		if err != nil {
			t.Fatal(err)
		}
		before := make([]int64, len(counts))
		for epoch := range int64(5) {
			after := m.Counts((epoch+1)*total, nil)
			for d := range counts {
				if after[d]-before[d] != counts[d] {
					t.Fatalf("case %d: epoch %d has %d of source %d, want %d", n, epoch, after[d]-before[d], d, counts[d])
				}
			}
			before = after
		}
	}
}

func TestEpochCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		o    EpochOptions
		want []int64
	}{
		{"first", EpochOptions{Weights: []float64{1, 1}, Rows: []int64{10, 30}}, []int64{10, 10}},
		{"all", EpochOptions{Stop: StopAll, Weights: []float64{1, 1}, Rows: []int64{10, 30}}, []int64{30, 30}},
		{"weights as the rows", EpochOptions{Stop: StopAll, Weights: []float64{1, 10}, Rows: []int64{1000, 10_000}}, []int64{1000, 10_000}},
		{"decimals", EpochOptions{Weights: []float64{0.7, 0.2, 0.1}, Rows: []int64{1000, 1000, 1000}}, []int64{1000, 286, 143}},
		{"all in decimals", EpochOptions{Stop: StopAll, Weights: []float64{0.7, 0.3}, Rows: []int64{1000, 1000}}, []int64{2333, 1000}},
		{"rare", EpochOptions{Weights: []float64{1e6, 1}, Rows: []int64{1000, 10}}, []int64{1000, 1}},
		{"no weight", EpochOptions{Weights: []float64{1, 0}, Rows: []int64{7, 0}}, []int64{7, 0}},
		{"tokens", EpochOptions{Weights: []float64{1, 1}, Rows: []int64{10, 10}, Tokens: []int64{300, 100}}, []int64{3, 10}},
		{"counts", EpochOptions{Counts: []int64{5, 50}}, []int64{5, 50}},
		{"a size that divides", EpochOptions{Size: 1000, Weights: []float64{0.7, 0.3}, Rows: []int64{10, 10}}, []int64{700, 300}},
		{"a size that does not", EpochOptions{Size: 1000, Weights: []float64{1, 2}, Rows: []int64{10, 10}}, nil},
		{"whole steps of counts", EpochOptions{Counts: []int64{5, 50}, Step: 20}, []int64{20, 60}},
		{"whole steps of a size", EpochOptions{Size: 95, Weights: []float64{3, 7}, Rows: []int64{10, 10}, Step: 10}, []int64{30, 70}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, got, err := EpochCounts(c.o)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v (%v)", got, c.want, err)
			}
			for _, n := range got {
				rows -= n
			}
			if got != nil && rows != 0 {
				t.Errorf("%v is %d off the epoch", got, rows)
			}
		})
	}
	for stop, source := range map[Stop]int{StopFirst: 0, StopAll: 1} { // whole steps until all rows have come
		o := EpochOptions{Stop: stop, Weights: []float64{1, 2}, Rows: []int64{101, 600}, Step: 10, Seed: 5}
		rows, counts, err := EpochCounts(o)
		if err != nil || counts != nil {
			t.Fatal(counts, err)
		}
		m, err := NewMixture(sourcesOf(t, 2, o.Rows, 5), []Weights{{Weights: o.Weights}}, MixtureOptions{Rows: rows, Seed: 5, Batching: PerSource, GlobalBatch: 10})
		if err != nil {
			t.Fatal(err)
		}
		if n := m.Counts(rows, nil)[source]; n < o.Rows[source] || n > o.Rows[source]+9 {
			t.Errorf("stop %q: %d samples of %d", stop, n, o.Rows[source])
		}
	}
	if _, _, err := EpochCounts(EpochOptions{Stop: StopAll, Weights: []float64{1, 1e30}, Rows: []int64{1e6, 10}}); err == nil {
		t.Error("an epoch of 10^36 samples")
	}
}
