package iterable

import (
	"fmt"
	"slices"
	"testing"

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

// placeOf is the source of a sample, the pass over it, its slot, and its number in the lane of the
// source there.
func placeOf(m *shuffle.Mixture, x int64) (source int, pass uint64, slot int, sample int64) {
	if g := m.Options().GlobalBatch; g > 0 {
		steps := m.Steps()
		source = steps.Walk(x / g).Next()
		q := steps.Counts(x/g, nil)[source]*g + x%g
		p := m.Sources()[source].Plan
		lanes := int64(p.Params().Lanes)
		return source, uint64(q / p.Rows()), int(q % lanes), q / lanes
	}
	slot, n := int(x%int64(m.Lanes())), x/int64(m.Lanes())
	lane := m.Lane(slot)
	source = lane.Walk(n).Next()
	return source, m.PassAt(source, x), slot, lane.Counts(n, nil)[source]
}

// mixedIDs are the ids of the samples [from, to) of a mixture, by its own arithmetic.
func mixedIDs(t testing.TB, d *Dataset, m *shuffle.Mixture, from, to int64) []int64 {
	t.Helper()
	type pass struct {
		source, slot int
		epoch        uint64
	}
	type lane struct {
		first int64
		ids   []int64
	}
	rows := map[pass]lane{}
	out := make([]int64, to-from)
	for x := from; x < to; x++ {
		source, epoch, slot, sample := placeOf(m, x)
		key := pass{source, slot, epoch}
		if rows[key].ids == nil {
			p := m.Pass(source, epoch)
			rows[key] = lane{p.First[slot], laneIDs(d, source, m.Sources()[source].Plan, p.Lane(slot))}
		}
		out[x-from] = rows[key].ids[sample-rows[key].first]
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
			u := p.Units().At(sp.Unit)
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
		batching              shuffle.Batching
	}{
		{name: "one rank", world: 1, workers: 1, batch: 32, buffer: 250, tail: shuffle.Short, kept: 2},
		{name: "all stay", world: 1, workers: 1, batch: 32, buffer: 10000, tail: shuffle.Pad, stop: shuffle.StopAll, kept: 4},
		{name: "none stays", world: 2, workers: 1, batch: 16, buffer: 4, lanes: 4, tail: shuffle.Pad, epochSize: 333},
		{name: "four ranks", world: 4, workers: 1, batch: 8, buffer: 400, tail: shuffle.Drop, kept: 3},
		{name: "ranks that share lanes", world: 3, workers: 1, batch: 8, buffer: 250, lanes: 4, tail: shuffle.Pad, kept: 2},
		{name: "workers", world: 2, workers: 2, batch: 8, buffer: 100, lanes: 8, tail: shuffle.Pad, kept: 1},
		{name: "carry", world: 2, workers: 1, batch: 16, buffer: 250, lanes: 8, tail: shuffle.Carry, epochSize: 201, kept: 2},
		{name: "shards by pass", world: 4, workers: 1, batch: 8, buffer: 250, lanes: 8, tail: shuffle.Pad, perEpoch: true, kept: 2},
		{name: "steps of a source", world: 2, workers: 1, batch: 16, buffer: 250, tail: shuffle.Short, batching: shuffle.PerSource, kept: 2},
		{name: "steps of a source that all stay", world: 1, workers: 1, batch: 16, buffer: 10000, tail: shuffle.Pad, batching: shuffle.PerSource, kept: 4},
		{name: "steps of a source, none stays", world: 2, workers: 2, batch: 8, buffer: 4, lanes: 4, tail: shuffle.Drop, epochSize: 333, batching: shuffle.PerSource},
		{name: "steps of a source, shared lanes", world: 3, workers: 2, batch: 7, buffer: 100, lanes: 4, tail: shuffle.Carry, epochSize: 90, batching: shuffle.PerSource, kept: 1},
		{name: "steps of a source, shards by pass", world: 4, workers: 1, batch: 8, buffer: 250, lanes: 8, tail: shuffle.Pad, perEpoch: true, batching: shuffle.PerSource, kept: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Sources: sources, ShuffleBuffer: Size{Rows: c.buffer}, Order: Order{Lanes: c.lanes, Seed: 9}, Mixing: Mixing{Stop: c.stop, EpochSize: c.epochSize, Batching: c.batching}}
			if c.perEpoch {
				o.Assign = shuffle.PerEpoch
			}
			d := openMixture(t, store, o)
			const epochs = 3
			so := StreamOptions{BatchSize: c.batch, Tail: c.tail, Epochs: epochs}
			steps := mixedSteps(t, d, c.world, c.workers, so)
			m, err := d.blend.(*mixture).mix(c.world, so, 0, 0)
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

// A plan counts the data that several sources have once.
func TestPlanOfSourcesOfOneTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		second int // source whose addresses the second one has too
		times  int64
	}{{"two tables", 1, 2}, {"one table", 0, 1}} {
		t.Run(c.name, func(t *testing.T) {
			store := &memstore.Store{}
			sources := mixtureSources(t, store, []int{400, 400}, []float64{1, 2})
			sources[1].Addresses = sources[c.second].Addresses
			var plans []*Plan
			for _, some := range [][]Source{sources[:1], sources} {
				p, err := openMixture(t, store, Options{Sources: some}).Plan(1, StreamOptions{BatchSize: 4})
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, p)
			}
			one, two := plans[0], plans[1]
			n := c.times
			if two.AllRows != n*one.AllRows || two.Shards != int(n)*one.Shards || two.Groups != int(n)*one.Groups || two.Units != 2*one.Units {
				t.Errorf("%d rows, %d shards, %d row groups, %d units; of one source %d, %d, %d, %d", two.AllRows, two.Shards, two.Groups, two.Units,
					one.AllRows, one.Shards, one.Groups, one.Units)
			}
			if two.Amplification != 1 || n == 1 && (two.Bytes != one.Bytes || two.Encoded != one.Encoded || two.Decoded != one.Decoded) {
				t.Errorf("%+v of two sources, %+v of one", two, one)
			}
		})
	}
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
			o := Options{Sources: slices.Clone(sources), Order: Order{Lanes: 2}}
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

// A resume keeps the length of an epoch, which other options would not have.
func TestMixtureKeepsTheEpoch(t *testing.T) {
	store := &memstore.Store{}
	o := Options{Sources: mixtureSources(t, store, []int{300, 100}, []float64{1, 1}), Mixing: Mixing{EpochSize: 50}, Order: Order{Lanes: 2}}
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
	d := openMixture(t, store, Options{Sources: mixtureSources(t, store, []int{90, 10}, []float64{1, 1}), Mixing: Mixing{EpochSize: 90}, Order: Order{Lanes: 2}})
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
