package iterable

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// In 1,000 random trials of kill step x world change x weight change x worker count, no sample of a
// mixture is lost and none is repeated, whether steps are of all sources or of one each: a run that
// is killed and continues reads in each step what an uninterrupted run reads, and each row of a
// source comes once in each pass over it.
func TestNoSampleOfAMixtureIsLostOrRepeated(t *testing.T) {
	trials := 1000
	if testing.Short() || racetest.Enabled {
		trials = 100
	}
	for trial := range trials {
		r := rand.New(rand.NewPCG(uint64(trial), 17))
		c := randomTrial(r)
		store := &memstore.Store{}
		c.o.Sources = mixtureSources(t, store, c.rows, c.weights)
		c.o.Shuffle = true
		d, err := Open(t.Context(), shard.Stores{"mem": store}, nil, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if !t.Run(fmt.Sprint(trial), func(t *testing.T) { c.run(t, r, d) }) {
			t.Logf("%+v", c)
		}
		closeWhole(t, d)
	}
}

// A mixTrial is a run that is killed and continues on other ranks, workers and weights.
type mixTrial struct {
	rows    []int
	weights []float64
	o       Options
	batch   int // of all ranks together
	tail    shuffle.Tail
}

func randomTrial(r *rand.Rand) mixTrial {
	c := mixTrial{batch: 48, tail: []shuffle.Tail{shuffle.Pad, shuffle.Short, shuffle.Drop, shuffle.Carry}[r.IntN(4)]}
	for range 1 + r.IntN(4) {
		c.rows = append(c.rows, []int{2, 20, 70, 150, 300}[r.IntN(5)])
		c.weights = append(c.weights, float64(1+r.IntN(9)))
	}
	c.o = Options{
		Order: Order{Seed: r.Uint64(), Lanes: []int{0, 2, 4, 6, 12}[r.IntN(5)]}, ShuffleBuffer: Size{Rows: int64(1 + r.IntN(400))}, Mixing: Mixing{EpochSize: int64(60 + r.IntN(300)), Batching: []shuffle.Batching{shuffle.Stratified, shuffle.PerSource}[r.IntN(2)]},
	}
	return c
}

// A mixSample is a row of a pass over its source.
type mixSample struct {
	id, pass int64
}

// run interrupts a run several times. Without weights that are set in between, it reads what a run
// reads that is not interrupted.
func (c mixTrial) run(t *testing.T, r *rand.Rand, d *Dataset) {
	worlds := []int{1, 2, 3, 4, 6}
	var got [][]mixSample
	begin, err := d.Start(worlds[0], StreamOptions{BatchSize: c.batch, Tail: c.tail})
	if err != nil {
		t.Fatal(err)
	}
	state, since := *reparse(t, begin), 0
	for range 2 + r.IntN(3) {
		world, workers := worlds[r.IntN(len(worlds))], 1+r.IntN(2)
		part, after := killed(t, d, world, workers, 1+r.IntN(6), StreamOptions{BatchSize: c.batch / world, State: &state, Epochs: -1})
		got = append(got, part...)
		state = *reparse(t, after)
		if r.IntN(2) == 0 {
			c.checkSteps(t, d, begin, got[since:])
			c.set(t, r, &state)
			begin, since = state, len(got)
		}
	}
	c.checkSteps(t, d, begin, got[since:])
	c.checkPasses(t, d, state, got)
}

// set gives the sources other weights from a state on.
func (c mixTrial) set(t *testing.T, r *rand.Rand, state *shuffle.State) {
	t.Helper()
	w := make([]float64, len(c.rows))
	for i := range w {
		w[i] = float64(r.IntN(6))
	}
	w[r.IntN(len(w))] = 1
	mix := *state.MixState
	mix.Weights = append(slices.Clone(mix.Weights), shuffle.Weights{From: int64(state.Epoch)*state.Rows + state.Position, Weights: w, Set: true})
	state.MixState = &mix
	*state = *reparse(t, *state)
}

// checkSteps compares steps with those of one uninterrupted run on one rank.
func (c mixTrial) checkSteps(t *testing.T, d *Dataset, begin shuffle.State, got [][]mixSample) {
	t.Helper()
	want, _ := killed(t, d, 1, 1, len(got), StreamOptions{BatchSize: c.batch, State: &begin, Epochs: -1})
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("step %d has\n%v, without interruption\n%v", i, got[i], want[i])
		}
	}
}

// checkPasses sees that no row comes twice in a pass, and that passes that are over have each row.
func (c mixTrial) checkPasses(t *testing.T, d *Dataset, state shuffle.State, got [][]mixSample) {
	t.Helper()
	type pass struct{ source, number int64 }
	seen, of := map[mixSample]bool{}, map[pass]int{}
	for step, samples := range got {
		sources := map[int64]bool{}
		for _, x := range samples {
			if seen[x] {
				t.Fatalf("row %d comes twice in pass %d", x.id, x.pass)
			}
			seen[x] = true
			sources[x.id/sourceIDs] = true
			of[pass{x.id / sourceIDs, x.pass}]++
		}
		if c.o.Batching == shuffle.PerSource && (len(sources) != 1 || len(samples) != c.batch) {
			t.Fatalf("step %d has %d samples of %d sources", step, len(samples), len(sources))
		}
	}
	if c.tail == shuffle.Drop && c.o.Batching == shuffle.Stratified {
		return // it leaves samples out
	}
	m, err := d.blend.(*mixture).remix(state)
	if err != nil {
		t.Fatal(err)
	}
	for source, n := range c.rows {
		for e := range int64(m.PassAt(source, m.At(state.Epoch, state.Position))) {
			if got := of[pass{int64(source), e}]; got != n {
				t.Errorf("pass %d over source %d of %d rows has %d", e, source, n, got)
			}
		}
	}
}

// killed reads so many steps on all ranks and workers, and returns the samples of each and the
// state.
func killed(t *testing.T, d *Dataset, world, workers, steps int, o StreamOptions) ([][]mixSample, shuffle.State) {
	t.Helper()
	all := make([][]mixSample, steps)
	var state shuffle.State
	for rank := range world {
		for worker := range workers {
			s, err := d.Stream(t.Context(), shuffle.Worker{Rank: rank, WorldSize: world, Worker: worker, Workers: workers}, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				dr, err := s.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all[i] = append(all[i], drawnSamples(t, d, dr)...)
				dr.Release()
			}
			if state = s.State(); s.Close() != nil {
				t.Fatal("Close fails")
			}
		}
	}
	for _, x := range all {
		slices.SortFunc(x, func(a, b mixSample) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.pass, b.pass)) })
	}
	return all, state
}

// drawnSamples are the valid samples of a draw.
func drawnSamples(t *testing.T, d *Dataset, dr *Draw) (all []mixSample) {
	t.Helper()
	for i, id := range ids(t, d.Schema(), dr)[:dr.Valid] {
		x := mixSample{id, dr.Epoch}
		if i < len(dr.After) {
			x.pass += int64(dr.After[i])
		}
		all = append(all, x)
	}
	return all
}
