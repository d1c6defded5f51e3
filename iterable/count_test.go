package iterable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// counted opens a data set and returns it, its units, and how many reads of shards that took.
func counted(t *testing.T, store shard.Store, o Options) (d *Dataset, units []shuffle.Unit, reads int64) {
	t.Helper()
	meter := &far{Store: store, parallel: 4}
	d = open(t, meter, o)
	cut, err := d.sources[0].cut(d.options.UnitRows)
	if err != nil {
		t.Fatal(err)
	}
	return d, cut.List(), meter.reads.Load()
}

// A second start reads no byte of the shards: footers and counts are in the index. What is kept is
// of the rule, of the units, and, where rows are numbered, of the rows before.
func TestCountsAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}, {90, 0, 90}})
	all := slices.Repeat([]bool{true, false, true}, len(table.rows))[:len(table.rows)]
	for name, o := range map[string]Options{
		"filter":        {Choice: Choice{Filters: "score > 0.5"}},
		"other filter":  {Choice: Choice{Filters: "score > 0.25"}},
		"small units":   {Choice: Choice{Filters: "score > 0.5"}, Order: Order{UnitRows: 20}},
		"key":           {Choice: Choice{Split: rule.Split{Subsample: 0.3, Key: "user"}}},
		"weight":        {Weight: "weight"},
		"all of them":   {Choice: Choice{Filters: "score > 0.5", Split: rule.Split{Subsample: 0.7}, Rows: table.list(t, all)}, Weight: "weight"},
		"part":          {Choice: Choice{Split: rule.Split{Subsample: 0.7}, Filters: "score > 0.5"}},
		"partition":     {Choice: Choice{Filters: "year = 2020"}},
		"row list":      {Choice: Choice{Rows: table.list(t, all)}},
		"part of files": {Choice: Choice{Split: rule.Split{Subsample: 0.7}}},
	} {
		t.Run(name, func(t *testing.T) {
			o.IndexDir = filepath.Join(t.TempDir(), "index")
			_, first, _ := counted(t, table.store, o)
			d, second, reads := counted(t, table.store, o)
			if !slices.Equal(first, second) || reads != 0 {
				t.Errorf("%d reads; units %v, then %v", reads, first, second)
			}
			o.IndexDir = ""
			if _, without, _ := counted(t, table.store, o); !slices.Equal(first, without) {
				t.Errorf("without an index: %v, want %v", without, first)
			}
			if len(readDir(t, d.options.IndexDir)) > 2 { // one segment of footers and one of counts
				t.Errorf("files %v", readDir(t, d.options.IndexDir))
			}
		})
	}
}

func readDir(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A shard that changed, a rule that differs and segments that are damaged are counted again; a
// directory that cannot be used is said and changes nothing.
func TestCountsAreNotTakenForOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 10))
	groups := [][]int{{60, 130, 1}, {40, 40, 40}}
	table, other := ruledRows(t, r, groups), ruledRows(t, r, groups)
	o := Options{Choice: Choice{Filters: "score > 0.5"}, IndexDir: filepath.Join(t.TempDir(), "index")}
	want := func(table *ruledTable, over float64) (n int64) {
		for _, row := range table.rows {
			if row.Score != nil && *row.Score > over {
				n++
			}
		}
		return n
	}
	check := func(what string, d *Dataset, table *ruledTable, over float64) {
		t.Helper()
		if got := d.NumSamples(); got != want(table, over) {
			t.Errorf("%s: %d samples, want %d", what, got, want(table, over))
		}
	}
	first, _, _ := counted(t, table.store, o)
	check("first", first, table, 0.5)
	changed, _, _ := counted(t, other.store, o)
	check("another store", changed, other, 0.5)
	o.Filters = "score > 0.75"
	d, _, reads := counted(t, table.store, o)
	check("another filter", d, table, 0.75)
	if d.Rule() == first.Rule() || reads == 0 {
		t.Errorf("rules %s and %s, %d reads", d.Rule(), first.Rule(), reads)
	}
	for _, name := range readDir(t, o.IndexDir) {
		if path := filepath.Join(o.IndexDir, name); strings.HasSuffix(name, ".sfc") {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-1] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, _, reads = counted(t, table.store, o)
	check("damaged segments", d, table, 0.75)
	if reads == 0 {
		t.Error("counts of damaged segments were taken")
	}
	o.IndexDir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(o.IndexDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	said := 0
	o.Events.IndexUnusable = func(string, error) { said++ }
	d, _, _ = counted(t, table.store, o)
	check("a file for a directory", d, table, 0.75)
	if said != 1 {
		t.Errorf("said %d times", said)
	}
}

// A saved plan has the counts, so no run counts again, and another rule is refused.
func TestSavedPlanHasCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 11))
	table := ruledRows(t, r, [][]int{{60, 130, 1}, {40, 40, 40}, {300}})
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			index, path := t.TempDir(), filepath.Join(t.TempDir(), "plan.json")
			o := Options{Choice: Choice{Filters: "score > 0.5"}, Order: Order{Shuffle: shuffled}, IndexDir: filepath.Join(index, "i")}
			if shuffled {
				o.UnitRows = 30
			}
			d, _, _ := counted(t, table.store, o)
			if err := d.SavePlan(path, 2, StreamOptions{BatchSize: 4}); err != nil {
				t.Fatal(err)
			}
			saved, err := ReadPlan(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range readDir(t, o.IndexDir) {
				if strings.HasSuffix(name, ".sfc") {
					if err := os.Remove(filepath.Join(o.IndexDir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			o.Plan, o.UnitRows = saved, 0
			p, _, reads := counted(t, table.store, o)
			if reads != 0 || p.NumSamples() != d.NumSamples() {
				t.Errorf("%d reads, %d samples, want %d", reads, p.NumSamples(), d.NumSamples())
			}
			a, b := rest(t, stream(t, d, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 4})), rest(t, stream(t, p, shuffle.Worker{WorldSize: 2}, StreamOptions{BatchSize: 4}))
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Error("the order is another one")
			}
			for _, filter := range []string{"", "score > 0.4"} {
				o.Filters = filter
				_, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, o)
				var mismatch *shuffle.MismatchError
				if !errors.As(err, &mismatch) || mismatch.Field != "rule" {
					t.Errorf("filter %q: %v", filter, err)
				}
			}
		})
	}
}

// swapped is two stores, of which the second has other content under the same names; its shards
// have no versions, as those of servers that tell none.
type swapped struct {
	shard.Store
	then shard.Store
	now  atomic.Bool
}

func (s *swapped) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	all, err := s.Store.List(ctx, pattern)
	for i := range all {
		all[i].Version = ""
	}
	return all, err
}

func (s *swapped) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	return swappedObject{store: s, uri: x.URI}, ctx.Err()
}

type swappedObject struct {
	store *swapped
	uri   string
}

func (o swappedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	from := o.store.Store
	if o.store.now.Load() {
		from = o.store.then
	}
	all, err := from.List(ctx, o.uri)
	if err != nil {
		return err
	}
	now, err := from.Open(ctx, all[0])
	if err != nil {
		return err
	}
	return errors.Join(now.ReadAt(ctx, p, off), now.Close())
}

func (swappedObject) Close() error { return nil }

// A shard that changed between the counting and the load is an error, whatever its store tells:
// rows never come in a shifted order.
func TestShardChangedAfterCounting(t *testing.T) {
	groups := [][]int{{100, 100}, {100}}
	a, b := files(t, groups, noImage), filesFrom(t, groups, 7000, noImage)
	s := &swapped{Store: a, then: b}
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			s.now.Store(false)
			d := open(t, s, Options{Choice: Choice{Filters: "id < 150"}, Order: Order{Shuffle: shuffled, Tail: shuffle.Short}})
			s.now.Store(true)
			x := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
			_, err := x.Next(t.Context())
			if !errors.Is(err, shard.ErrChanged) || !contains(err.Error(), "were kept when they were counted") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The counting ends with its context, and with the first error.
func TestCountingEnds(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(3, 12)), [][]int{{60, 130, 1}, {40, 40, 40}, {300}})
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	budget := NewBudget(1 << 30)
	o := Options{Choice: Choice{Filters: "score > 0.5"}, Resources: Resources{Budget: budget}, Events: Events{Counted: func(n, _ int64) {
		if n > 0 {
			cancel(mine)
		}
	}}}
	if _, err := Open(ctx, shard.Stores{"mem": table.store}, []string{"mem://data/"}, o); !errors.Is(err, mine) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	store := &failing{Store: table.store}
	o.Events = Events{FootersRead: func(int, int) { store.fail.Store(&mine) }}
	if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o); !errors.Is(err, mine) {
		t.Errorf("error %v", err)
	}
	o.Events, o.Memory = Events{}, 1<<10
	var m *MemoryError
	if _, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, o); !errors.As(err, &m) || m.Memory == 0 {
		t.Errorf("error %v", err)
	}
	if n := budget.Admitted(); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
}

// Progress never falls and ends with all row groups.
func TestCountedEvents(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(3, 13)), [][]int{{60, 130, 1}, {40, 40}, {300}})
	var done []int64
	open(t, table.store, Options{Choice: Choice{Filters: "score > 0.5 and year = 2020"}, Events: Events{Counted: func(n, of int64) {
		if of != 6 {
			t.Errorf("of %d", of)
		}
		done = append(done, n)
	}}})
	if !slices.IsSorted(done) || done[0] != 1 || done[len(done)-1] != 6 { // year 2021 has no sample
		t.Errorf("done %v", done)
	}
}

// Under a part by row numbers, or weights, counts are of the rows before the shard too: with a
// shard more in front they are others.
func TestCountsOfNumberedRows(t *testing.T) {
	for name, o := range map[string]Options{
		"part":   {Choice: Choice{Filters: "score > 0.5", Split: rule.Split{Subsample: 0.4}}},
		"weight": {Weight: "weight"},
	} {
		t.Run(name, func(t *testing.T) {
			o.IndexDir = filepath.Join(t.TempDir(), "index")
			r := rand.New(rand.NewPCG(3, 15))
			table := ruledRows(t, r, [][]int{{150}, {40, 70}})
			counted(t, table.store, o)
			more := ruledRows(t, r, [][]int{{77}})
			all, err := more.store.List(t.Context(), "mem://data/")
			if err != nil {
				t.Fatal(err)
			}
			object, err := more.store.Open(t.Context(), all[0])
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, all[0].Size)
			if err := object.ReadAt(t.Context(), b, 0); err != nil {
				t.Fatal(err)
			}
			table.store.Put("data/year=2019/first.parquet", b)
			_, got, _ := counted(t, table.store, o)
			o.IndexDir = ""
			_, want, _ := counted(t, table.store, o)
			if !slices.Equal(got, want) {
				t.Errorf("units %v, want %v", got, want)
			}
		})
	}
}

// Counts of a shard whose store tells no version are not kept: a change would go unseen.
func TestCountsWithoutVersionsAreNotKept(t *testing.T) {
	groups := [][]int{{100, 100}, {100}}
	s := &swapped{Store: files(t, groups, noImage), then: filesFrom(t, groups, 7000, noImage)}
	o := Options{Choice: Choice{Filters: "id < 150 or id >= 7250"}, IndexDir: filepath.Join(t.TempDir(), "index")}
	for _, want := range []int64{150, 50} {
		if d := open(t, s, o); d.NumSamples() != want {
			t.Errorf("%d samples, want %d", d.NumSamples(), want)
		}
		s.now.Store(true)
	}
}

// A state of another rule, or of none, is refused by the field's name.
func TestStateOfAnotherRule(t *testing.T) {
	store := files(t, [][]int{{100, 100}, {100}}, noImage)
	for _, shuffled := range []bool{true, false} {
		for _, c := range [][2]string{{"id < 150", "id < 151"}, {"id < 150", ""}, {"", "id >= 0"}} {
			t.Run(fmt.Sprintf("shuffle %t %s, then %s", shuffled, c[0], c[1]), func(t *testing.T) {
				first := open(t, store, Options{Order: Order{Shuffle: shuffled}, Choice: Choice{Filters: c[0]}})
				state, err := first.Start(1, StreamOptions{BatchSize: 5})
				if err != nil {
					t.Fatal(err)
				}
				_, err = open(t, store, Options{Order: Order{Shuffle: shuffled}, Choice: Choice{Filters: c[1]}}).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 5, State: &state})
				if err == nil || !contains(err.Error(), "rule is ") {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// Every problem with a rule is listed, each with its field, with those of other options.
func TestRulesThatDoNotFit(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(3, 16)), [][]int{{30}})
	_, err := Open(t.Context(), shard.Stores{"mem": table.store}, []string{"mem://data/"}, Options{
		Choice: Choice{Filters: "scor > 0.5 and id = 'x'", Split: rule.Split{Subsample: 0.5, Key: "tokens"}}, Weight: "label", Words: Words{Vocabulary: map[string][]string{"none": nil}},
	})
	for _, want := range []string{`Filters names column "scor"`, "'x'", "PartKey must be a column of single values", "Weight must be a column of integers", `column "none"`} {
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}
