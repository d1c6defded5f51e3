package iterable

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/rule"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// audits is how many runs a test audits: 1,000 with SHARDFEED_AUDITS=1000.
func audits(t *testing.T, few int) int {
	t.Helper()
	n := few
	if text := os.Getenv("SHARDFEED_AUDITS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// An auditCase is a data set and its steps.
type auditCase struct {
	name    string
	d       *Dataset
	options StreamOptions
	fixed   bool // the global batch is the state's
}

// auditCases open data sets of all orders and rules.
func auditCases(t *testing.T) (all []auditCase) {
	t.Helper()
	groups, _ := uneven()
	plain, mixed := files(t, groups, noImage), &memstore.Store{}
	add := func(name string, d *Dataset, tail shuffle.Tail) {
		all = append(all, auditCase{name: name, d: d, options: StreamOptions{Tail: tail, Hashes: true}})
	}
	for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		o := Options{Order: Order{Seed: 3, Tail: tail, Lanes: 6}, ShuffleBuffer: Size{Rows: 150}}
		add("files "+string(tail), open(t, plain, o), tail)
		o.Shuffle = true
		add("shuffled "+string(tail), open(t, plain, o), tail)
		o.Filters = "id >= 40 and label != 'label 3'"
		add("filtered "+string(tail), open(t, plain, o), tail)
	}
	lost := files(t, groups, noImage)
	damage(t, lost, "data/part-002.parquet", 3)
	for _, onError := range []OnError{Mask, Skip} {
		o := Options{Order: Order{Shuffle: true, Seed: 5}, Losses: Losses{OnError: onError, MaxLost: 1}, ShuffleBuffer: Size{Rows: 90}}
		add("lost "+string(onError), open(t, lost, o), shuffle.Pad)
		o.Shuffle = false
		add("lost in files "+string(onError), open(t, lost, o), shuffle.Short)
	}
	sources := mixtureSources(t, mixed, []int{300, 100, 40}, []float64{3, 2, 1})
	for _, batching := range []shuffle.Batching{shuffle.Stratified, shuffle.PerSource} {
		d := openMixture(t, mixed, Options{Sources: sources, Mixing: Mixing{Batching: batching, EpochSize: 360}, Order: Order{Seed: 7}})
		add("mixture "+string(batching), d, shuffle.Pad)
		all[len(all)-1].fixed = batching == shuffle.PerSource
	}
	add("mixture carry", openMixture(t, mixed, Options{Sources: sources, Mixing: Mixing{EpochSize: 350}, Order: Order{Seed: 8, Tail: shuffle.Carry}}), shuffle.Carry)
	table := packRows(t, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {7, 60, 3, 12, 19}}, randomDocuments(1))
	pack := Options{Order: Order{Shuffle: true, Seed: 4}, ShuffleBuffer: Size{Rows: 12}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 40}}}}
	pack.Columns = []string{"tokens", "id"}
	add("packed", open(t, table.store, pack), shuffle.Pad)
	pack.Pack, pack.Bucket = nil, &rule.Bucket{Columns: map[string]int{"tokens": 200}}
	add("buckets", open(t, table.store, pack), shuffle.Short)
	return all
}

// An auditRun is an epoch of a case as its ranks read it, with the hash of each sample.
type auditRun struct {
	audit   *Audit
	epoch   audit.Epoch
	records []audit.Record
	steps   []auditStep
}

// An auditStep is a step of a rank.
type auditStep struct {
	record int
	audit.Sum
	hashes []uint64
}

// run reads an epoch in legs: each ends after some steps, and the next resumes on another world.
func (c auditCase) run(t *testing.T, r *rand.Rand) *auditRun {
	t.Helper()
	const g, number = 24, 2
	so := c.options
	so.Epoch, so.Epochs = number, 1
	x := &auditRun{epoch: audit.Epoch{Number: number, Rows: c.d.NumSamples()}}
	for position := int64(0); ; {
		world := []int{1, 2, 3, 4, 6, 8}[r.IntN(6)]
		so.BatchSize = g / world
		if !c.fixed && r.IntN(3) == 0 {
			so.BatchSize = 1 + r.IntN(9)
		}
		limit := 0
		if r.IntN(3) > 0 {
			limit = 1 + r.IntN(6)
		}
		state := x.leg(t, c, so, world, limit, position)
		if x.audit == nil {
			var err error
			if x.audit, err = c.d.Audit(state); err != nil {
				t.Fatal(err)
			}
			x.epoch.Rows = state.Rows
			x.epoch.Due = func(from, to int64) (uint64, error) { return x.audit.Due(number, from, to), nil }
		}
		over := state.Epoch != number
		position = state.Position + int64(state.Epoch-number)*state.Rows
		if n := len(x.records); over && n > 0 {
			x.epoch.To = x.records[n-1].To
		}
		if over || limit == 0 {
			return x
		}
		so.State = reparse(t, state)
	}
}

// leg reads the steps of all ranks, at most limit if it is not 0, and returns the state after them.
func (x *auditRun) leg(t *testing.T, c auditCase, so StreamOptions, world, limit int, from int64) (state shuffle.State) {
	t.Helper()
	for rank := range world {
		s := stream(t, c.d, shuffle.Worker{Rank: rank, WorldSize: world}, so)
		record := audit.Record{Epoch: x.epoch.Number, World: world, Rank: rank, From: from, To: from}
		for range limit + (1-min(limit, 1))*1_000_000 {
			d, err := s.Next(t.Context())
			if err != nil {
				break
			}
			step := auditStep{record: len(x.records), Sum: audit.Sum{Rows: int64(d.Valid), Lost: int64(d.Lost), Padded: int64(d.Rows - d.Valid), Hash: d.Hash}, hashes: slices.Clone(d.Hashes)}
			x.steps = append(x.steps, step)
			record.Add(step.Sum)
			record.To = min(d.Position+s.steps.GlobalBatch, d.State.Rows)
			if s.steps.Tail == shuffle.Carry {
				record.To = d.Position + s.steps.GlobalBatch
			}
			d.Release()
		}
		x.records = append(x.records, record)
		x.epoch.To = record.To
		state = s.State()
		s.Close()
	}
	return state
}

func (x *auditRun) check(t *testing.T) audit.Report {
	t.Helper()
	r, err := audit.Check(x.epoch, x.records)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Epochs of all orders and rules, killed at random steps and resumed on other worlds, are proved:
// with the records of all ranks, and without any fault when some are missing.
func TestAuditRaisesNoFalseAlarm(t *testing.T) {
	cases := auditCases(t)
	for n := range audits(t, 150) {
		c, r := cases[n%len(cases)], rand.New(rand.NewPCG(uint64(n), 33))
		x := c.run(t, r)
		if got := x.check(t); !got.Proved() || got.Rows+got.Lost != x.epoch.To {
			t.Fatalf("%d, %s: %v", n, c.name, got.String())
		}
		x.records = append(x.records, x.records[r.IntN(len(x.records))]) // that two states have
		first := x.records[0]
		x.records = slices.DeleteFunc(x.records, func(o audit.Record) bool { return o.To < x.epoch.To && o.Rank > 0 }) // only rank 0's state was saved
		if got := x.check(t); len(got.Faults) > 0 || first.World > 1 && first.To < x.epoch.To && got.Proved() {
			t.Fatalf("%d, %s, without records: %v", n, c.name, got.String())
		}
	}
}

// plants are errors of a run.
var plants = []struct {
	name  string
	plant func(x *auditRun, r *rand.Rand) bool // false: the run has no place for it
}{
	{"a lost row", func(x *auditRun, r *rand.Rand) bool {
		s, h := x.row(r)
		x.records[s.record].Add(audit.Sum{Rows: -1, Hash: -h})
		return true
	}},
	{"a repeated row", func(x *auditRun, r *rand.Rand) bool {
		s, h := x.row(r)
		x.records[s.record].Add(audit.Sum{Rows: 1, Hash: h})
		return true
	}},
	{"a swapped row", func(x *auditRun, r *rand.Rand) bool {
		s, h := x.row(r)
		_, other := x.row(r)
		x.records[s.record].Add(audit.Sum{Hash: other - h})
		return other != h
	}},
	{"a skipped batch", func(x *auditRun, r *rand.Rand) bool {
		s := x.steps[r.IntN(len(x.steps))]
		x.records[s.record].Add(audit.Sum{Rows: -s.Rows, Lost: -s.Lost, Padded: -s.Padded, Hash: -s.Hash})
		return s.Rows+s.Lost > 0
	}},
	{"an older state", func(x *auditRun, r *rand.Rand) bool {
		i := r.IntN(len(x.records))
		o := &x.records[i]
		s := slices.IndexFunc(x.steps, func(s auditStep) bool { return s.record != i && x.records[s.record].Rank == o.Rank })
		if s < 0 || o.From == 0 {
			return false
		}
		o.From -= min(o.From, x.steps[s].Rows*int64(o.World))
		o.Add(x.steps[s].Sum)
		return true
	}},
	{"a newer state", func(x *auditRun, r *rand.Rand) bool {
		at := x.records[r.IntN(len(x.records))].From
		if at == 0 {
			return false
		}
		last := slices.MaxFunc(x.records, func(a, b audit.Record) int { return int(a.From - b.From) })
		x.records = slices.DeleteFunc(x.records, func(o audit.Record) bool { return o.From == at })
		return at < last.From || at == x.epoch.To || len(x.records) > 0
	}},
}

// row returns a random row that came: its step and hash.
func (x *auditRun) row(r *rand.Rand) (auditStep, uint64) {
	for {
		s := x.steps[r.IntN(len(x.steps))]
		if len(s.hashes) == 0 {
			continue
		}
		i := r.IntN(len(s.hashes))
		h := s.hashes[i]
		if i > 0 {
			h -= s.hashes[i-1]
		}
		return s, h
	}
}

// The audit finds each error.
func TestAuditFindsErrors(t *testing.T) {
	cases := auditCases(t)
	planted := map[string]int{}
	all := audits(t, 150)
	for n, done := 0, 0; done < all; n++ {
		c, r := cases[n%len(cases)], rand.New(rand.NewPCG(uint64(n), 34))
		x, p := c.run(t, r), plants[r.IntN(len(plants))]
		if !p.plant(x, r) {
			continue
		}
		planted[p.name]++
		done++
		if got := x.check(t); len(got.Faults) == 0 {
			t.Errorf("%d, %s, %s: not found: %v", n, c.name, p.name, got.String())
		}
	}
	if t.Log(planted); len(planted) < len(plants) {
		t.Errorf("planted only %v", planted)
	}
}
