package iterable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A mixRecord is a row of the tests' sources.
type mixRecord struct {
	ID    int64  `parquet:"id"`
	Label string `parquet:"label,dict"`
}

const sourceIDs = 1_000_000 // ids of source i begin at i times that

// sourceFiles writes a shard for each list of row groups into a store.
func sourceFiles(t testing.TB, store *memstore.Store, source int, groups [][]int) {
	t.Helper()
	id := int64(source) * sourceIDs
	for s, rows := range groups {
		shard := writeShard(t, rows, func() mixRecord {
			r := mixRecord{ID: id, Label: fmt.Sprintf("label %d", id%7)}
			id++
			return r
		})
		store.Put(fmt.Sprintf("s%d/part-%03d.parquet", source, s), shard)
	}
}

// mixtureSources are sources of so many rows, in shards of three row groups.
func mixtureSources(t testing.TB, store *memstore.Store, rows []int, weights []float64) (all []Source) {
	t.Helper()
	for i, n := range rows {
		var groups [][]int
		for left := n; left > 0; left -= 60 {
			m := min(left, 60)
			groups = append(groups, []int{m / 3, m / 3, m - 2*(m/3)})
		}
		sourceFiles(t, store, i, groups)
		all = append(all, Source{Name: fmt.Sprintf("s%d", i), Addresses: []string{fmt.Sprintf("mem://s%d/", i)}, Weight: weights[i]})
	}
	return all
}

// openMixture opens several sources. o has them.
func openMixture(t testing.TB, store shard.Store, o Options) *Dataset {
	t.Helper()
	o.Shuffle = true
	d, err := Open(t.Context(), shard.Stores{"mem": store}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWhole(t, d) })
	return d
}

// closeWhole closes a data set, and sees that all memory was given back.
func closeWhole(t testing.TB, d *Dataset) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := d.pool.Stats().InUse; n != 0 {
		t.Errorf("%d bytes of blocks were never freed", n)
	}
	if n := d.options.Budget.Admitted(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// mixedIDs are the ids of the samples [from, to) of a mixture, by its own arithmetic.
func mixedIDs(t testing.TB, d *Dataset, m *shuffle.Mixture, from, to int64) []int64 {
	t.Helper()
	type pass struct {
		source, slot int
		epoch        uint64
	}
	rows := map[pass][]int64{}
	out := make([]int64, to-from)
	lanes := make([]*shuffle.MixLane, m.Lanes())
	for x := from; x < to; x++ {
		slot, n := int(x%int64(m.Lanes())), x/int64(m.Lanes())
		if lanes[slot] == nil {
			lanes[slot] = m.Lane(slot)
		}
		source := lanes[slot].Walk(n).Next()
		epoch, row := m.Pass(source, slot, lanes[slot].Counts(n, nil)[source])
		key := pass{source, slot, epoch}
		if rows[key] == nil {
			rows[key] = laneIDs(d, source, m.Sources()[source].Plan, m.Sources()[source].Plan.Epoch(epoch).Lane(slot))
		}
		out[x-from] = rows[key][row]
	}
	return out
}

// laneIDs are the ids of a lane's rows, in the order in which they leave.
func laneIDs(d *Dataset, source int, p *shuffle.Plan, lane *shuffle.Lane) (out []int64) {
	first := make([]int64, len(d.sources[source].data.Groups))
	for g := 1; g < len(first); g++ {
		first[g] = first[g-1] + d.sources[source].data.Groups[g-1].Rows
	}
	var tick shuffle.Tick
	for it := lane.Iter(); it.Next(&tick); {
		for _, pick := range tick.Picks {
			sp := lane.Span(int(pick.Span))
			u := p.Units()[sp.Unit]
			out = append(out, int64(source)*sourceIDs+first[u.Group]+u.Lo+sp.From+int64(lane.RowOrder(int(pick.Span), nil)[pick.Seq]))
		}
	}
	return out
}

// Streams of all ranks and workers together read what the mixture's arithmetic says, over several
// epochs, with every tail, where sources stay in the buffer and where they do not.
func TestMixtureIsRead(t *testing.T) {
	store := &memstore.Store{}
	sources := mixtureSources(t, store, []int{400, 130, 25, 3}, []float64{5, 3, 1, 0.5})
	for _, c := range []struct {
		name                  string
		world, workers, batch int
		buffer                int64
		lanes                 int
		tail                  shuffle.Tail
		stop                  shuffle.Stop
		epochSize             int64
		kept                  int // sources that stay in the buffer
		perEpoch              bool
	}{
		{name: "one rank", world: 1, workers: 1, batch: 32, buffer: 250, tail: shuffle.Short, kept: 2},
		{name: "all stay", world: 1, workers: 1, batch: 32, buffer: 10000, tail: shuffle.Pad, stop: shuffle.StopAll, kept: 4},
		{name: "none stays", world: 2, workers: 1, batch: 16, buffer: 4, lanes: 4, tail: shuffle.Pad, epochSize: 333},
		{name: "four ranks", world: 4, workers: 1, batch: 8, buffer: 400, tail: shuffle.Drop, kept: 3},
		{name: "ranks that share lanes", world: 3, workers: 1, batch: 8, buffer: 250, lanes: 4, tail: shuffle.Pad, kept: 2},
		{name: "workers", world: 2, workers: 2, batch: 8, buffer: 100, lanes: 8, tail: shuffle.Pad, kept: 1},
		{name: "carry", world: 2, workers: 1, batch: 16, buffer: 250, lanes: 8, tail: shuffle.Carry, epochSize: 201, kept: 2},
		{name: "shards by pass", world: 4, workers: 1, batch: 8, buffer: 250, lanes: 8, tail: shuffle.Pad, perEpoch: true, kept: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Sources: sources, ShuffleBuffer: Size{Rows: c.buffer}, Lanes: c.lanes, Stop: c.stop, EpochSize: c.epochSize, Seed: 9}
			if c.perEpoch {
				o.Assign = shuffle.PerEpoch
			}
			d := openMixture(t, store, o)
			const epochs = 3
			so := StreamOptions{BatchSize: c.batch, Tail: c.tail, Epochs: epochs}
			steps := mixedSteps(t, d, c.world, c.workers, so)
			m, err := d.mix(c.world, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, s := range m.Sources() {
				if p := s.Plan.Params(); p.Buffer >= s.Plan.Rows() {
					kept++
				}
			}
			if kept != c.kept {
				t.Errorf("%d sources stay in the buffer, want %d", kept, c.kept)
			}
			st := shuffle.Steps{Rows: m.Rows(), GlobalBatch: int64(c.world * c.batch), Tail: c.tail}
			begin := stepper{Steps: st, end: epochs}
			for i := range steps {
				step, ok := begin.next()
				if !ok {
					t.Fatalf("%d steps, want %d", len(steps), i)
				}
				x := m.At(step.epoch, step.pos)
				want := mixedIDs(t, d, m, x, x+step.rows)
				slices.Sort(want)
				if !slices.Equal(steps[i], want) {
					t.Fatalf("step %d has\n%v, want\n%v", i, steps[i], want)
				}
			}
			if step, more := begin.next(); more {
				t.Errorf("%d steps, and step %+v is missing", len(steps), step)
			}
		})
	}
}

// mixedSteps are the valid ids of each step over all ranks and workers, sorted.
func mixedSteps(t testing.TB, d *Dataset, world, workers int, o StreamOptions) (steps [][]int64) {
	t.Helper()
	for rank := range world {
		for worker := range workers {
			s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world, Worker: worker, Workers: workers}, o)
			for i, x := range rest(t, s) {
				if i == len(steps) {
					steps = append(steps, nil)
				}
				steps[i] = append(steps[i], x.ids[:x.valid]...)
			}
			s.Close()
		}
	}
	for _, x := range steps {
		slices.Sort(x)
	}
	return steps
}

// Each epoch of a mixture has the sources by weight, and its rows are those of the sources.
func TestMixtureEpochs(t *testing.T) {
	store := &memstore.Store{}
	sources := mixtureSources(t, store, []int{300, 100}, []float64{1, 1})
	for _, c := range []struct {
		name   string
		o      func(*Options)
		epoch  int64
		counts [2]int64
	}{
		{"first", func(*Options) {}, 200, [2]int64{100, 100}},
		{"all", func(o *Options) { o.Stop = shuffle.StopAll }, 600, [2]int64{300, 300}},
		{"epoch size", func(o *Options) { o.EpochSize = 50 }, 50, [2]int64{25, 25}},
		{"repeat", func(o *Options) {
			o.Sources[0].Weight, o.Sources[1].Weight, o.Sources[1].Repeat = 0, 0, 2
		}, 500, [2]int64{300, 200}},
		{"choose", func(o *Options) {
			o.Sources[0].Weight, o.Sources[0].Choose, o.Sources[1].Weight, o.Sources[1].Repeat = 0, 30, 0, 0.5
		}, 80, [2]int64{30, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Sources: slices.Clone(sources), Lanes: 2}
			c.o(&o)
			d := openMixture(t, store, o)
			if d.NumSamples() != c.epoch || d.NumRows() != 400 {
				t.Errorf("an epoch has %d samples of %d rows, want %d", d.NumSamples(), d.NumRows(), c.epoch)
			}
			var counts [2]int64
			for _, x := range mixedSteps(t, d, 1, 1, StreamOptions{BatchSize: 10, Tail: shuffle.Short}) {
				for _, id := range x {
					counts[id/sourceIDs]++
				}
			}
			for i := range counts {
				if diff := counts[i] - c.counts[i]; diff > 2 || diff < -2 {
					t.Errorf("the epoch has %v, want %v", counts, c.counts)
				}
			}
		})
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
		Seed: r.Uint64(), Lanes: []int{0, 2, 4, 6, 12}[r.IntN(5)], ShuffleBuffer: Size{Rows: int64(1 + r.IntN(400))}, EpochSize: int64(60 + r.IntN(300)),
	}
	return c
}

// Runs that are killed at any step, and continue on another number of ranks and workers with other
// weights, read what an uninterrupted run reads: no sample is lost and none comes again.
func TestMixtureSurvives(t *testing.T) {
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

// run interrupts a run several times.
func (c mixTrial) run(t *testing.T, r *rand.Rand, d *Dataset) {
	worlds := []int{1, 2, 3, 4, 6}
	var got [][]int64
	begin, err := d.Start(worlds[0], StreamOptions{BatchSize: c.batch, Tail: c.tail})
	if err != nil {
		t.Fatal(err)
	}
	state := *reparse(t, begin)
	for range 2 + r.IntN(3) {
		world, workers := worlds[r.IntN(len(worlds))], 1+r.IntN(2)
		part, after := killed(t, d, world, workers, 1+r.IntN(6), StreamOptions{BatchSize: c.batch / world, State: &state, Epochs: -1})
		got = append(got, part...)
		state = *reparse(t, after)
		if r.IntN(2) == 0 {
			w := make([]float64, len(c.rows))
			for i := range w {
				w[i] = float64(r.IntN(6))
			}
			w[r.IntN(len(w))] = 1
			state.MixState.Weights = append(slices.Clone(state.Weights), shuffle.Weights{From: int64(state.Epoch)*state.Rows + state.Position, Weights: w})
		}
	}
	whole := begin
	mix := *begin.MixState
	mix.Weights = state.Weights
	whole.MixState = &mix
	want, _ := killed(t, d, 1, 1, len(got), StreamOptions{BatchSize: c.batch, State: &whole, Epochs: -1})
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("step %d has\n%v, without interruption\n%v", i, got[i], want[i])
		}
	}
}

// killed reads so many steps on all ranks and workers, and returns the rows of each and the state.
func killed(t *testing.T, d *Dataset, world, workers, steps int, o StreamOptions) ([][]int64, shuffle.State) {
	t.Helper()
	all := make([][]int64, steps)
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
				x := take(t, s, dr)
				all[i] = append(all[i], x.ids[:x.valid]...)
			}
			if state = s.State(); s.Close() != nil {
				t.Fatal("Close fails")
			}
		}
	}
	for _, x := range all {
		slices.Sort(x)
	}
	return all, state
}

// A resume keeps the length of an epoch, which other options would not have.
func TestMixtureKeepsTheEpoch(t *testing.T) {
	store := &memstore.Store{}
	o := Options{Sources: mixtureSources(t, store, []int{300, 100}, []float64{1, 1}), EpochSize: 50, Lanes: 2}
	state, err := openMixture(t, store, o).Start(1, StreamOptions{BatchSize: 10, Tail: shuffle.Short})
	if err != nil {
		t.Fatal(err)
	}
	o.EpochSize = 0
	d := openMixture(t, store, o)
	if steps := mixedSteps(t, d, 1, 1, StreamOptions{BatchSize: 10, State: &state}); len(steps) != 5 {
		t.Errorf("%d steps, want 5", len(steps))
	}
	if n := d.SourceSamples(state)["s0"]; n != 0 {
		t.Errorf("%d samples came before the first", n)
	}
	state.Position = 20
	if n := d.SourceSamples(state); n["s0"] != 10 || n["s1"] != 10 {
		t.Errorf("%v samples of 20", n)
	}
}

// A pick is of a pass over its source, and padding is of the passes of the rows that it repeats.
func TestMixturePasses(t *testing.T) {
	store := &memstore.Store{}
	d := openMixture(t, store, Options{Sources: mixtureSources(t, store, []int{90, 10}, []float64{1, 1}), EpochSize: 90, Lanes: 2})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 40, Tail: shuffle.Pad, Epochs: 2})
	seen := map[int64]map[int64]bool{}
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			break
		}
		pass := func(i int) int64 {
			if i < len(dr.After) {
				return dr.Epoch + int64(dr.After[i])
			}
			return dr.Epoch
		}
		all := ids(t, d.Schema(), dr)
		for i, id := range all {
			if i >= dr.Valid {
				if pass(i) != pass(i%dr.Valid) {
					t.Errorf("row %d of padding is of pass %d, and repeats one of pass %d", i, pass(i), pass(i%dr.Valid))
				}
				continue
			}
			if seen[id] == nil {
				seen[id] = map[int64]bool{}
			}
			if seen[id][pass(i)] {
				t.Errorf("row %d comes twice in pass %d", id, pass(i))
			}
			seen[id][pass(i)] = true
		}
		dr.Release()
	}
	if n := len(seen[sourceIDs]); n < 8 {
		t.Errorf("a row of the small source came in %d passes", n)
	}
	if n := len(seen[0]); n != 1 {
		t.Errorf("a row of the large source came in %d passes of one", n)
	}
}
