package iterable

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A dayRecord is a row of a table that gets a directory for each day.
type dayRecord struct {
	ID     int64   `parquet:"id"`
	Tokens []int64 `parquet:"tokens,list"`
}

// putDay adds a shard of row groups of so many rows, with ids from a number on.
func putDay(t testing.TB, store *memstore.Store, name string, id int64, groups ...int) {
	t.Helper()
	store.Put(name, writeShard(t, groups, func() dayRecord {
		r := dayRecord{ID: id, Tokens: make([]int64, id%9)}
		id++
		return r
	}))
}

// A table gets shards without a chosen row while a run is interrupted: the run goes on as if they
// did not exist.
func TestNewDay(t *testing.T) {
	after := func(store *memstore.Store) { putDay(t, store, "data/day=27/part-0.parquet", 5000, 70, 10) }
	between := func(store *memstore.Store) {
		putDay(t, store, "data/day=25/part-1-new.parquet", 5000, 40, 1)
		putDay(t, store, "data/day=26/part-9.parquet", 6000, 0)
		putDay(t, store, "data/day=01/part-0.parquet", 7000, 20)
		after(store)
	}
	empty := func(store *memstore.Store) {
		putDay(t, store, "data/day=24/part-0.parquet", 5000, 0)
		putDay(t, store, "data/day=25/part-1-new.parquet", 5000)
	}
	for name, c := range map[string]struct {
		o     Options
		grows func(*memstore.Store)
	}{
		"by partition":           {Options{Choice: Choice{Filters: "day <= 26"}}, after},
		"by partition, between":  {Options{Choice: Choice{Filters: "day <= 26 and day > 20 and id < 4000"}}, between},
		"by value":               {Options{Choice: Choice{Filters: "id < 4000"}}, between},
		"by value without stats": {Options{Choice: Choice{Filters: "id < 4000"}, pruneFrom: 1 << 40}, between},
		"empty":                  {Options{}, empty},
		"empty, with a filter":   {Options{Choice: Choice{Filters: "id < 4000"}}, empty},
		"part by key":            {Options{Choice: Choice{Filters: "id < 4000", Split: rule.Split{Parts: map[string]float64{"a": 3, "b": 1}, Part: "a", Key: "id"}}}, between},
		"part by number":         {Options{Choice: Choice{Filters: "id < 4000", Split: rule.Split{Parts: map[string]float64{"a": 3, "b": 1}, Part: "a"}}}, after},
		"weighted":               {Options{Choice: Choice{Filters: "id < 4000"}, Weight: "id"}, empty},
	} {
		for _, shuffled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, shuffle %t", name, shuffled), func(t *testing.T) {
				if c.o.Weight != "" {
					c.o.Filters = "id < 9"
				}
				testNewDay(t, c.o, shuffled, c.grows)
			})
		}
	}
}

func testNewDay(t *testing.T, o Options, shuffled bool, grows func(*memstore.Store)) {
	store := &memstore.Store{}
	for day := 25; day <= 26; day++ {
		for part := range 3 {
			putDay(t, store, fmt.Sprintf("data/day=%d/part-%d.parquet", day, part), int64(100*(3*(day-25)+part)), 30, 41, 0, 12)
		}
	}
	o.Shuffle, o.Seed, o.MaxWorldSize, o.Columns = shuffled, 5, 4, []string{"id"}
	so := StreamOptions{BatchSize: 2, Tail: shuffle.Pad}
	d := open(t, store, o)
	want, _ := globalRows(t, d, 4, so, 0)
	begin, err := d.Start(4, so)
	if err != nil {
		t.Fatal(err)
	}
	n := len(want) / 3
	got, state := globalRows(t, d, 4, so, n)
	content, versions := d.Content(), d.Versions()

	grows(store)
	d = open(t, store, o)
	if d.Content() != content || d.Versions() != versions {
		t.Error("the data has other hashes")
	}
	if now, err := d.Start(4, so); err != nil || string(now.JSON()) != string(begin.JSON()) {
		t.Errorf("a run would begin at\n%s\nin place of\n%s (%v)", now.JSON(), begin.JSON(), err)
	}
	more, _ := globalRows(t, d, 2, StreamOptions{BatchSize: 4, Tail: shuffle.Pad, State: reparse(t, state)}, 0)
	if got = append(got, more...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("other rows after step %d:\n%v, want\n%v", n, got, want)
	}
}

// Rows of new shards between others change which rows a part by row numbers has.
func TestNewDayThatMovesParts(t *testing.T) {
	store := &memstore.Store{}
	putDay(t, store, "data/a/part-0.parquet", 0, 50)
	putDay(t, store, "data/b/part-0.parquet", 100, 50)
	o := Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "id < 4000", Split: rule.Split{Subsample: 0.5}}}
	state, err := open(t, store, o).Start(1, StreamOptions{BatchSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	putDay(t, store, "data/a/part-1.parquet", 5000, 3)
	_, err = open(t, store, o).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 5, State: &state})
	if err == nil || !contains(err.Error(), "not the shards") {
		t.Errorf("error %v", err)
	}
}

// A list of rows refuses shards that it does not know, unless their partitions exclude them.
func TestNewDayWithAListOfRows(t *testing.T) {
	store := &memstore.Store{}
	putDay(t, store, "data/day=25/part-0.parquet", 0, 50)
	putDay(t, store, "data/day=26/part-0.parquet", 100, 50)
	var file bytes.Buffer
	if _, err := open(t, store, Options{Choice: Choice{Filters: "id < 120"}}).Select(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	list, err := rule.ParseRowList(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "day <= 26", Rows: list}}
	before, err := open(t, store, o).Start(1, StreamOptions{BatchSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	putDay(t, store, "data/day=27/part-0.parquet", 200, 50)
	after, err := open(t, store, o).Start(1, StreamOptions{BatchSize: 5})
	if err != nil || string(before.JSON()) != string(after.JSON()) {
		t.Errorf("%s, before %s (%v)", after.JSON(), before.JSON(), err)
	}
	o.Filters = "day <= 27"
	if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o); err == nil || !contains(err.Error(), "does not know 1 of 3 shards") {
		t.Errorf("error %v", err)
	}
}

// Packed samples depend on the shards that have tokens of chosen rows.
func TestNewDayOfPackedRows(t *testing.T) {
	for _, strategy := range []rule.PackStrategy{rule.BestFit, rule.BestFitSplit} {
		t.Run(string(strategy), func(t *testing.T) {
			store := &memstore.Store{}
			putDay(t, store, "data/day=25/part-0.parquet", 0, 60, 61)
			putDay(t, store, "data/day=26/part-0.parquet", 200, 62, 13)
			o := Options{
				Order: Order{Shuffle: true}, Choice: Choice{Filters: "id < 4000"}, Reading: Reading{Columns: []string{"tokens"}}, Pack: &Pack{Pack: rule.Pack{Columns: map[string]int{"tokens": 32}, Strategy: strategy}},
			}
			so := StreamOptions{BatchSize: 2}
			want, _ := packedSteps(t, open(t, store, o), 1, 1, so, 0)
			got, state := packedSteps(t, open(t, store, o), 1, 1, so, 3)
			putDay(t, store, "data/day=24/part-0.parquet", 5000, 44)
			putDay(t, store, "data/day=25/part-0-new.parquet", 6000, 44)
			so.State = reparse(t, state)
			more, _ := packedSteps(t, open(t, store, o), 1, 1, so, 0)
			if got = append(got, more...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("other blocks:\n%v, want\n%v", got, want)
			}
		})
	}
}

// Each source of a mixture may get new shards.
func TestNewDayOfSources(t *testing.T) {
	for _, batching := range []shuffle.Batching{shuffle.Stratified, shuffle.PerSource} {
		t.Run(string(batching), func(t *testing.T) {
			store := &memstore.Store{}
			o := Options{Mixing: Mixing{Batching: batching}, Sources: mixtureSources(t, store, []int{300, 200}, []float64{2, 1})}
			o.Sources[0].Filters = "id < 100000"
			o.Sources[1].Filters = fmt.Sprintf("id < %d", sourceIDs+100_000)
			so := StreamOptions{BatchSize: 10, Tail: shuffle.Drop}
			d := openMixture(t, store, o)
			want, _ := globalRows(t, d, 1, so, 0)
			got, state := globalRows(t, d, 1, so, 7)
			content := d.Content()
			for i := range o.Sources {
				id := int64(i)*sourceIDs + 200_000
				for _, name := range []string{"a", "part-000-new", "z"} {
					store.Put(fmt.Sprintf("s%d/%s.parquet", i, name), writeShard(t, []int{25, 5}, func() mixRecord { id++; return mixRecord{ID: id} }))
				}
			}
			d = openMixture(t, store, o)
			if d.Content() != content {
				t.Error("the data has another hash")
			}
			so.State = reparse(t, state)
			more, _ := globalRows(t, d, 1, so, 0)
			if got = append(got, more...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("other rows:\n%v, want\n%v", got, want)
			}
		})
	}
}

// Random numbers of a row stay the same when shards without a chosen row come before its own.
func TestRowKeys(t *testing.T) {
	store := &memstore.Store{}
	putDay(t, store, "data/b.parquet", 0, 10, 5)
	putDay(t, store, "data/d.parquet", 20, 10)
	o := Options{Choice: Choice{Filters: "id < 100"}, Reading: Reading{RowIDs: true}}
	if keys := open(t, store, o).RowKeys(); keys != nil || keys.Of(12) != 12 {
		t.Errorf("keys %v", keys)
	}
	putDay(t, store, "data/e.parquet", 500, 9)
	if keys := open(t, store, o).RowKeys(); keys != nil {
		t.Errorf("keys %v of a new shard behind all", keys)
	}
	putDay(t, store, "data/a.parquet", 600, 3, 4)
	putDay(t, store, "data/c.parquet", 700, 2)
	keys := open(t, store, o).RowKeys()
	var got []int64
	for _, row := range []int64{7, 21, 24, 33} { // of a: 0 to 6, of b: 7 to 21, of c: 22 and 23, of d: 24 to 33
		got = append(got, keys.Of(row))
	}
	if !slices.Equal(got, []int64{0, 14, 15, 24}) {
		t.Errorf("keys %v", got)
	}
}

// Paths in a state are relative to the shards with a chosen row.
func TestNewDayBesideOneDirectory(t *testing.T) {
	store := &memstore.Store{}
	putDay(t, store, "data/day=26/part-0.parquet", 0, 30)
	o := Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "day <= 26"}}
	state, err := open(t, store, o).Start(1, StreamOptions{BatchSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	putDay(t, store, "data/day=27/part-0.parquet", 50, 30) // the directory of all shards is now another
	s, err := open(t, store, o).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 5, State: &state})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
