package iterable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// packedStep is the blocks of a step, over all ranks.
type packedStep []packedBlock

func (s packedStep) sorted() packedStep {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b packedBlock) int { return cmp.Or(cmp.Compare(a.Tokens, b.Tokens), cmp.Compare(a.IDs, b.IDs)) })
	return s
}

// packedSteps reads streams of all ranks and workers, up to limit steps (0: all), and returns the
// valid blocks of each step and the state after them.
func packedSteps(t *testing.T, d *Dataset, world, workers int, so StreamOptions, limit int) (steps []packedStep, state shuffle.State) {
	t.Helper()
	for rank := range world {
		for worker := range workers {
			s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world, Worker: worker, Workers: workers}, so)
			for i := 0; limit == 0 || i < limit; i++ {
				dr, err := s.Next(context.Background())
				if errors.Is(err, io.EOF) && limit == 0 {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if i == len(steps) {
					steps = append(steps, nil)
				}
				steps[i] = append(steps[i], packedRows(t, d.Schema(), dr)[:dr.Valid]...)
				dr.Release()
			}
			state = s.State()
			s.Close()
		}
	}
	for i := range steps {
		steps[i] = steps[i].sorted()
	}
	return steps, state
}

// packedEpoch is the blocks of an epoch by position, as packages rule and shuffle define them.
func (table *packTable) packedEpoch(t *testing.T, d *Dataset, times []int, world int, epoch uint64) (all []packedBlock) {
	t.Helper()
	units, err := d.sources[0].cut(d.options.UnitRows)
	if err != nil {
		t.Fatal(err)
	}
	if !d.options.Shuffle {
		return slices.Concat(table.packedUnits(d, epoch, units.List(), times, func(int, int) []uint32 { return nil })...)
	}
	p, err := d.sources[0].plan(world, StreamOptions{Tail: d.options.Tail}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	blocks := table.packedUnits(d, epoch, units.List(), times, func(unit, n int) []uint32 {
		e := p.Epoch(epoch)
		for slot := range p.Params().Lanes {
			for l, j := e.Lane(slot), 0; j < l.Spans(); j++ {
				if l.Span(j).Unit == unit {
					return l.RuleOrder(j, n, nil)
				}
			}
		}
		return nil // it has no block
	})
	numbers := make([][]int64, units.Len())
	var flat []packedBlock
	for u := range blocks {
		for _, b := range blocks[u] {
			numbers[u] = append(numbers[u], int64(len(flat)))
			flat = append(flat, b)
		}
	}
	for _, n := range sampleOrder(p, numbers, epoch) {
		all = append(all, flat[n])
	}
	return all
}

// randomPack sets options of a packing, and maybe of a rule before it, and returns how often each
// document comes.
func (table *packTable) randomPack(r *rand.Rand, o *Options) []int {
	p := &Pack{Value: -r.Int64N(2)}
	p.Columns = map[string]int{"tokens": []int{4, 16, 64, 200}[r.IntN(4)]}
	p.Strategy = []rule.PackStrategy{"", rule.Wrapped, rule.BestFit, rule.BestFitSplit}[r.IntN(4)]
	o.Columns = []string{"id", "tokens", "mask", "label", "tags"}
	if r.IntN(3) == 0 {
		eos, bos := int64(-7), int64(-8)
		if p.EOS = &eos; r.IntN(2) == 0 {
			p.BOS = &bos
		}
		o.Columns = []string{"id", "tokens", "label", "tags"}
		if r.IntN(2) == 0 {
			p.FIM = &rule.FillInTheMiddle{Rate: 0.7, SPMRate: 0.5, Prefix: -11, Middle: -12, Suffix: -13}
		}
	}
	if r.IntN(3) == 0 {
		p.Length = "n"
	}
	o.Pack = p
	times := make([]int, len(table.rows))
	for i := range times {
		times[i] = 1
	}
	if r.IntN(3) == 0 {
		o.Filters = "len(tokens) > 3 and id >= 40"
		for i := range times {
			times[i] = truth(len(table.rows[i].Tokens) > 3 && i >= 40)
		}
	}
	if r.IntN(5) == 0 {
		o.Weight = "id" // up to 255
		o.Filters = "id between 1 and 20"
		for i := range times {
			if times[i] = 0; i >= 1 && i <= 20 {
				times[i] = i
			}
		}
	}
	return times
}

// Streams of random packings, rules before them and settings deliver the blocks that naive packing
// makes, in the order that package shuffle defines, and go on from any step on another world size.
func TestPackedStreamsAreTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	table := packRows(t, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}, {90, 0, 90}}, randomDocuments(1))
	index := filepath.Join(t.TempDir(), "index")
	packs := 36
	if racetest.Enabled {
		packs = 10
	}
	for n := range packs {
		world, workers, batch := 1+r.IntN(5), 1+r.IntN(3), 1+r.IntN(5)
		o := Options{
			Order: Order{Shuffle: r.IntN(4) > 0, Seed: r.Uint64(), Tail: []shuffle.Tail{"drop", "pad", "short", "carry"}[r.IntN(4)]}, ShuffleBuffer: Size{Rows: 1 + r.Int64N(200)},
			IndexDir: []string{"", index}[r.IntN(2)], pruneFrom: r.Int64N(2), stepFrom: r.Int64N(2) * 100,
		}
		if r.IntN(2) == 0 {
			o.Lanes, o.UnitRows = 1+r.IntN(12), 1+r.Int64N(60)
		}
		times := table.randomPack(r, &o)
		t.Run(fmt.Sprintf("%d: %s", n, o.Pack.Text()), func(t *testing.T) {
			d := open(t, table.store, o)
			if o.Tail == shuffle.Drop && d.NumSamples() < int64(world*batch) {
				return
			}
			table.checkPackedOrder(t, d, times, world, workers, batch)
			checkPackedResume(t, d, world, 1+r.IntN(5), batch)
		})
	}
}

// checkPackedOrder reads two epochs and compares each step.
func (table *packTable) checkPackedOrder(t *testing.T, d *Dataset, times []int, world, workers, batch int) {
	t.Helper()
	tail := d.options.Tail
	all := append(table.packedEpoch(t, d, times, world, 3), table.packedEpoch(t, d, times, world, 4)...)
	rows := int64(len(all) / 2)
	if d.NumSamples() != rows {
		t.Fatalf("%d samples, want %d", d.NumSamples(), rows)
	}
	steps, _ := packedSteps(t, d, world, workers, StreamOptions{BatchSize: batch, Epoch: 3, Epochs: 2}, 0)
	at := int64(0)
	for i, edges := range stepEdges(len(steps), rows, int64(world*batch), tail) {
		got := steps[i]
		if want := packedStep(all[edges[0]:edges[1]]).sorted(); !slices.Equal(got, want) {
			t.Fatalf("step %d:\n%v\nwant\n%v", i, got, want)
		}
		at = edges[1]
	}
	if g := int64(world * batch); int64(len(all))-at >= g {
		t.Errorf("%d blocks did not come", int64(len(all))-at)
	}
}

// checkPackedResume resumes after each step on another world size.
func checkPackedResume(t *testing.T, d *Dataset, world, other, batch int) {
	t.Helper()
	g := world * batch
	want, _ := packedSteps(t, d, world, 1, StreamOptions{BatchSize: batch}, 0)
	if g%other != 0 || d.options.Tail == shuffle.Pad || d.options.Tail == shuffle.Carry {
		return
	}
	for at := 1; at < len(want); at += 1 + len(want)/4 {
		_, state := packedSteps(t, d, world, 1, StreamOptions{BatchSize: batch}, at)
		if state.Rule != d.Rule() || state.Rows != d.NumSamples() {
			t.Fatalf("the state has rule %q and %d rows, not %q and %d", state.Rule, state.Rows, d.Rule(), d.NumSamples())
		}
		if n := len(state.JSON()); n > 450 {
			t.Errorf("a state of %d bytes: a packing must add none", n)
		}
		got, _ := packedSteps(t, d, other, 1, StreamOptions{BatchSize: g / other, State: reparse(t, state)}, 0)
		if fmt.Sprint(got) != fmt.Sprint(want[at:]) {
			t.Fatalf("after step %d on %d ranks:\n%v\nwant\n%v", at, other, got, want[at:])
		}
	}
}

// Every token comes once in an epoch, with eos and bos around each document, and nothing else.
func TestPackedTokensAsAMultiset(t *testing.T) {
	table := packRows(t, [][]int{{60, 130}, {40}, {300}}, randomDocuments(2))
	eos := int64(-1)
	for _, strategy := range []rule.PackStrategy{rule.Wrapped, rule.BestFitSplit} {
		t.Run(string(strategy), func(t *testing.T) {
			d := open(t, table.store, Options{
				Order: Order{Shuffle: true, Tail: shuffle.Short}, Reading: Reading{Columns: []string{"tokens"}},
				Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 50}, Strategy: strategy, EOS: &eos}, Value: -9},
			})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 7})
			got := map[string]int{}
			for {
				dr, err := s.Next(t.Context())
				if err != nil {
					break
				}
				for _, b := range packedRows(t, d.Schema(), dr) {
					for _, token := range fieldsOf(b.Tokens) {
						got[token]++
					}
				}
				dr.Release()
			}
			documents, tokens := 0, 0
			for _, row := range table.rows {
				if tokens += len(row.Tokens); len(row.Tokens) > 0 {
					documents++
				}
				for _, token := range row.Tokens {
					if got[fmt.Sprint(token)] != 1 {
						t.Fatalf("token %d comes %d times", token, got[fmt.Sprint(token)])
					}
				}
			}
			if padding := int(d.NumSamples())*50 - tokens - documents; got["-1"] != documents || got["-9"] != padding || len(got) != tokens+2 {
				t.Errorf("%d eos, %d padding, %d kinds of tokens; want %d, %d, %d", got["-1"], got["-9"], len(got), documents, padding, tokens+2)
			}
		})
	}
}

func fieldsOf(list string) (all []string) {
	from := 1
	for i, c := range list {
		if c == ' ' || c == ']' {
			all = append(all, list[from:i])
			from = i + 1
		}
	}
	return all
}

// Under bfd documents lose what is beyond a block, and the stream says so.
func TestPackTellsOfTruncatedDocuments(t *testing.T) {
	table := packRows(t, [][]int{{10}, {10}}, func(id int64) int { return 3 + 10*int(id%2) })
	var documents, tokens int64
	d := open(t, table.store, Options{
		Order: Order{Tail: shuffle.Short}, Reading: Reading{Columns: []string{"tokens"}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}, Strategy: rule.BestFit}},
		Events: Events{Truncated: func(d, n int64) { documents, tokens = documents+d, tokens+n }},
	})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Parallel: 1})
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			break
		}
		dr.Release()
	}
	if documents != 10 || tokens != 50 || s.Stats().Truncated != 10 {
		t.Errorf("told of %d documents and %d tokens, counted %d; want 10, 50, 10", documents, tokens, s.Stats().Truncated)
	}
}

// Counts that are kept are taken over: the next start reads no list.
func TestPackCountsAreKept(t *testing.T) {
	table := packRows(t, [][]int{{60, 130}, {40}}, randomDocuments(3))
	o := Options{
		IndexDir: filepath.Join(t.TempDir(), "index"), Reading: Reading{Columns: []string{"tokens"}},
		Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 40}, Strategy: rule.BestFitSplit}},
	}
	first := open(t, table.store, o).NumSamples()
	reads := 0
	o.Events.Counted = func(done, of int64) {
		if reads++; done != of {
			t.Errorf("%d of %d row groups are known at the start", done, of)
		}
	}
	if again := open(t, table.store, o).NumSamples(); again != first || reads == 0 {
		t.Errorf("%d samples, %d the first time", again, first)
	}
}

// Blocks that are not as many as were counted are an error, more of them as well as fewer.
func TestPackMiscounted(t *testing.T) {
	table := packRows(t, [][]int{{20}}, func(int64) int { return 40 })
	for _, c := range []struct {
		name         string
		first, later string // filters
	}{{"more", "id != 2", "id >= 0"}, {"fewer", "id >= 0", "id != 2"}} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, table.store, Options{
				Reading: Reading{Columns: []string{"tokens"}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 40}, Strategy: rule.BestFit}},
				Choice: Choice{Filters: c.first},
			})
			refilter(t, d, c.later)
			_, err := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Parallel: 1}).Next(t.Context())
			if err == nil || !contains(err.Error(), "part-000.parquet") {
				t.Errorf("error %v, want one that names the shard", err)
			}
		})
	}
}

func TestPackRefuses(t *testing.T) {
	table := packRows(t, [][]int{{20}}, randomDocuments(4))
	token, huge := int64(1), int64(1)<<40
	fim := &rule.FillInTheMiddle{Rate: 1, Prefix: 2, Middle: 3, Suffix: huge}
	pack := func(name string, size int) rule.Pack { return rule.Pack{Columns: map[string]int{name: size}} }
	for _, c := range []struct {
		name    string
		columns []string
		pack    Pack
		want    string
	}{
		{"no such column", nil, Pack{Pack: pack("token", 8)}, `Pack["token"] names a column that is not read`},
		{"not read", []string{"id"}, Pack{Pack: pack("tokens", 8)}, `Pack["tokens"] names a column that is not read`},
		{"no list", nil, Pack{Pack: pack("id", 8)}, `Pack["id"] must be a column of lists of fixed-width values, got int64`},
		{"list of texts", nil, Pack{Pack: pack("tags", 8)}, `Pack["tags"] must be a column of lists of fixed-width values, got list<string>: text becomes tokens first, so write a column of token lists and name it`},
		{"size", nil, Pack{Pack: pack("tokens", 0)}, `Pack["tokens"] must be from 1 to 16777216 tokens, got 0`},
		{"eos beside other lists", nil, Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}, EOS: &token}}, `column "mask" has no place for them: name it too`},
		{"eos that does not fit", []string{"mask"}, Pack{Pack: rule.Pack{Columns: map[string]int{"mask": 8}, EOS: &huge}}, `Pack["mask"] has items of int32, which do not hold eos 1099511627776`},
		{"infill beside other lists", []string{"tokens", "mask"}, Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8, "mask": 8}, EOS: &token, FIM: fim}}, `permutes the tokens of "mask" for fill-in-the-middle, and column "tokens" has a value for each of them`},
		{"infill of tokens that do not fit", []string{"mask"}, Pack{Pack: rule.Pack{Columns: map[string]int{"mask": 8}, EOS: &token, FIM: fim}}, `Pack["mask"] has items of int32, which do not hold suffix 1099511627776`},
		{"lengths are no column", nil, Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}, Length: "m"}}, `Pack.Length names column "m", which the data does not have`},
		{"lengths are texts", nil, Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 8}, Length: "label"}}, `Pack.Length takes lengths from a column of integers, got "label", which is string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, Options{Reading: Reading{Columns: c.columns}, Pack: &c.pack})
			var e *OptionError
			if err == nil || !errors.As(err, &e) || !contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A run of two epochs can be resumed at every step, on another number of ranks.
func TestPackedResumeAtEveryStep(t *testing.T) {
	table := packRows(t, [][]int{{12, 5}, {20}, {9, 1, 14}}, randomDocuments(6))
	for _, strategy := range []rule.PackStrategy{rule.Wrapped, rule.BestFit, rule.BestFitSplit} {
		for _, shuffled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s shuffle %t", strategy, shuffled), func(t *testing.T) {
				fim := &rule.FillInTheMiddle{Rate: 0.5, SPMRate: 0.5, Prefix: -1, Middle: -2, Suffix: -3, Boundaries: []int64{-4}}
				d := open(t, table.store, Options{
					Order: Order{Shuffle: shuffled, Seed: 3, Tail: shuffle.Drop, Lanes: 4}, ShuffleBuffer: Size{Rows: 12}, Reading: Reading{Columns: []string{"tokens", "id"}},
					Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 40}, Strategy: strategy, FIM: fim}},
				})
				want, _ := packedSteps(t, d, 2, 1, StreamOptions{BatchSize: 3, Epochs: 2}, 0)
				for at := 1; at < len(want); at++ {
					_, state := packedSteps(t, d, 2, 1, StreamOptions{BatchSize: 3, Epochs: 2}, at)
					left := 2 - int(state.Epoch)
					got, _ := packedSteps(t, d, 3, 1, StreamOptions{BatchSize: 2, Epochs: left, State: reparse(t, state)}, 0)
					if fmt.Sprint(got) != fmt.Sprint(want[at:]) {
						t.Fatalf("after step %d:\n%v\nwant\n%v", at, got, want[at:])
					}
				}
			})
		}
	}
}
