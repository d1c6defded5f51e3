package iterable

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// dayShards are shards of 10 rows for each of the days 1 to 9 of a month, as a partition.
func dayShards(t *testing.T) *memstore.Store {
	t.Helper()
	store, id := &memstore.Store{}, int64(0)
	content := writeShard(t, []int{10}, func() record {
		id++
		return record{ID: id}
	})
	for day := 1; day < 10; day++ {
		store.Put(fmt.Sprintf("data/day=2024-01-%02d/part.parquet", day), content)
	}
	return store
}

// TestStatesKeepTheirDay: a run that continues on another day keeps the rows of the day when it
// began, and is refused without.
func TestStatesKeepTheirDay(t *testing.T) {
	store := dayShards(t)
	source := func(o Options) Options {
		for _, name := range []string{"a", "b"} {
			o.Sources = append(o.Sources, Source{Name: name, Addresses: []string{"mem://data/"}, Weight: 1, Choice: Choice{Filters: o.Filters}})
		}
		o.Filters = ""
		return o
	}
	for name, with := range map[string]func(o Options) Options{
		"file order": func(o Options) Options { o.Shuffle = false; return o }, "shuffled": func(o Options) Options { return o }, "mixture": source,
	} {
		t.Run(name, func(t *testing.T) {
			start := func(now time.Time) (*Dataset, shuffle.State) {
				o := with(Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "day between today() - 2 and today()"}, Now: now})
				d, err := Open(t.Context(), shard.Stores{"mem": store}, addressesOf(o), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				state, err := d.Start(1, StreamOptions{BatchSize: 5})
				if err != nil {
					t.Fatal(err)
				}
				return d, state
			}
			day := time.Date(2024, 1, 5, 23, 59, 59, 0, time.UTC)
			first, state := start(day)
			if first.NumSamples()%30 != 0 || state.Now != "2024-01-05T00:00:00Z" || first.Now() != state.Now {
				t.Fatalf("%d samples at %q, %q", first.NumSamples(), state.Now, first.Now())
			}
			next, _ := start(day.Add(time.Minute))
			_, err := next.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 5, State: &state})
			if err == nil || !strings.Contains(err.Error(), "now is 2024-01-05T00:00:00Z") {
				t.Errorf("error %v", err)
			}
			saved, err := time.Parse(time.RFC3339, state.Now)
			if err != nil {
				t.Fatal(err)
			}
			same, _ := start(saved)
			s, err := same.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 5, State: &state})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func addressesOf(o Options) []string {
	if len(o.Sources) > 0 {
		return nil
	}
	return []string{"mem://data/"}
}

// TestPlansKeepTheirDay: a run with a saved plan has the rows that were counted for it.
func TestPlansKeepTheirDay(t *testing.T) {
	store, path := dayShards(t), filepath.Join(t.TempDir(), "plan")
	o := Options{Order: Order{Shuffle: true}, Choice: Choice{Filters: "day between today() - 2 and today()"}, Now: time.Date(2024, 1, 5, 12, 0, 0, 0, time.UTC)}
	if err := open(t, store, o).SavePlan(path, 1, StreamOptions{BatchSize: 5}); err != nil {
		t.Fatal(err)
	}
	plan, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	o.Plan, o.Now = plan, time.Time{}
	if d := open(t, store, o); d.NumSamples() != 30 || d.Now() != "2024-01-05T00:00:00Z" {
		t.Errorf("%d samples at %q", d.NumSamples(), d.Now())
	}
}
