package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/samples"
)

// Data that is lost when the rows that a rule keeps are counted has no samples under mask and skip,
// is named, and is not among the counts that are kept; under raise it fails Open.
func TestLostWhileCounting(t *testing.T) {
	groups, rows := uneven()
	for _, c := range lossCases() {
		for _, onError := range []OnError{Raise, Mask, Skip} {
			t.Run(fmt.Sprintf("%s/%s", c.name, onError), func(t *testing.T) {
				store, index := files(t, groups, noImage), filepath.Join(t.TempDir(), "index")
				c.before(t, store)
				var told atomic.Int64
				o := Options{Choice: Choice{Filters: "id >= 0"}, Losses: Losses{OnError: onError}, IndexDir: index, Order: Order{Shuffle: true, Tail: shuffle.Short}, Events: Events{
					FootersRead: func(n, of int) {
						if n == of {
							c.then(t, store)
						}
					},
					Lost: func(Loss) { told.Add(1) },
				}}
				if onError == Raise {
					_, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o)
					if !rowgroup.IsLoss(err) || c.err != nil && !errors.Is(err, c.err) {
						t.Errorf("error %v, want %v", err, c.err)
					}
					return
				}
				d := open(t, store, o)
				var want []int64
				for id := range rows {
					if !c.lost(id) {
						want = append(want, id)
					}
				}
				places := d.Losses()
				lost := int64(0)
				for _, x := range places {
					lost += x.Hi - x.Lo
				}
				if d.NumSamples() != int64(len(want)) || lost != rows-int64(len(want)) || int(told.Load()) != len(places) {
					t.Errorf("%d samples, want %d; lost are %v, told %d", d.NumSamples(), len(want), places, told.Load())
				}
				s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 9})
				var got []int64
				for _, x := range rest(t, s) {
					got = append(got, x.ids[:x.valid]...)
				}
				if slices.Sort(got); !slices.Equal(got, want) || s.Stats().Lost != 0 {
					t.Errorf("the stream has %v, want %v; it lost %d", got, want, s.Stats().Lost)
				}
				o.OnError, o.Events.FootersRead = Raise, nil
				if c.name == "corrupt" { // else the shards are others, or do not list
					if _, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, o); !rowgroup.IsLoss(err) {
						t.Errorf("the next start takes the lost unit for one without samples: %v", err)
					}
				}
			})
		}
	}
}

// Only the units that are lost have no samples, though a row group is read at once.
func TestLostUnitsOfARowGroup(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(6, 1)), [][]int{{300}, {200}})
	damage(t, table.store, "data/year=2020/part-000.parquet", 0) // the first page of ids, of 64 rows
	d := open(t, table.store, Options{Reading: Reading{Columns: []string{"id", "label", "image"}}, Choice: Choice{Filters: "id >= 10"}, Order: Order{UnitRows: 64, Tail: shuffle.Short}, Losses: Losses{OnError: Skip}})
	units, err := d.sources[0].cut(64)
	if err != nil {
		t.Fatal(err)
	}
	kept, lost := int64(0), 0
	for _, u := range units.All() {
		if u.Group == 0 && u.Lo < 64 {
			lost++
		} else {
			kept += u.Rows()
		}
	}
	if d.NumSamples() != kept || kept < 300 || len(d.Losses()) != lost {
		t.Fatalf("%d samples of %v, want %d; lost are %v", d.NumSamples(), units, kept, d.Losses())
	}
	n := 0
	for _, x := range rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})) {
		n += x.valid
	}
	if n != int(d.NumSamples()) {
		t.Errorf("%d rows, want %d", n, d.NumSamples())
	}
}

// A unit of which some rows are lost has no sample, though statistics say that others are kept.
func TestPartlyLostUnit(t *testing.T) {
	table := ruledRows(t, rand.New(rand.NewPCG(6, 2)), [][]int{{300}, {200}})
	damage(t, table.store, "data/year=2020/part-000.parquet", 0)
	d := open(t, table.store, Options{Choice: Choice{Filters: "id between 10 and 130 or id >= 300"}, Losses: Losses{OnError: Skip}, pruneFrom: 1})
	if x := d.Losses(); d.NumSamples() != 200 || len(x) != 1 || x[0].Lo != 0 || x[0].Hi != 300 {
		t.Errorf("%d samples, want 200; lost are %v", d.NumSamples(), x)
	}
}

// What is lost of all data is said where no sample is left.
func TestLostAllWhileCounting(t *testing.T) {
	store := files(t, [][]int{{10}}, noImage)
	damage(t, store, "data/part-000.parquet", 0)
	_, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Choice: Choice{Filters: "id >= 0"}, Losses: Losses{OnError: Mask}})
	if !errors.Is(err, ErrNoRow) || !contains(err.Error(), "got none of 10: id >= 0; rows 0 to 9 are lost: ") {
		t.Errorf("error %v", err)
	}
}

// Faults that may pass end the counting pass with an error under mask too.
func TestPassingFaultsWhileCounting(t *testing.T) {
	for _, fault := range []error{shard.ErrTransient, shard.ErrDenied} {
		t.Run(fault.Error(), func(t *testing.T) {
			store := &failing{Store: files(t, [][]int{{10, 10}}, noImage)}
			_, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Choice: Choice{Filters: "id >= 0"}, Losses: Losses{OnError: Mask}, Events: Events{
				FootersRead: func(int, int) { store.fail.Store(&fault) },
			}})
			if !errors.Is(err, fault) {
				t.Errorf("error %v, want %v", err, fault)
			}
		})
	}
}

// refilter makes the loads of a data set keep other rows than were counted.
func refilter(t *testing.T, d *Dataset, filter string) {
	t.Helper()
	s := d.sources[0]
	o := samples.Options{Choice: Choice{Filters: filter}}
	o.Filter = o.Parse(&option.List{New: option.NewError})
	r, err := samples.Bind(o, s.manifest, s.data, &s.transforms)
	if err != nil {
		t.Fatal(err)
	}
	*s.rules = *r
}

// A load that does not have the rows that were counted is a loss.
func TestMiscountedLoadIsALoss(t *testing.T) {
	groups, _ := uneven()
	lost := func(id int64) bool { return id >= 136 && id < 161 }
	o := Options{Order: Order{Shuffle: true, Seed: 3, Lanes: 6, Tail: shuffle.Short}, ShuffleBuffer: Size{Rows: 150}, Choice: Choice{Filters: "id >= 0"}}
	whole, broken := open(t, files(t, groups, noImage), o), open(t, files(t, groups, noImage), o)
	refilter(t, broken, "id != 138")
	for _, onError := range []OnError{Mask, Skip} {
		if missing := compareLost(t, whole, broken, shuffle.Worker{}, StreamOptions{}, onError, lost); missing != 2*25 {
			t.Errorf("%s: %d rows are lost", onError, missing)
		}
	}
	if x := broken.Losses(); len(x) != 1 || !errors.Is(x[0].Err, shard.ErrChanged) || !contains(x[0].String(), "25 rows were kept when they were counted, and 24 are") {
		t.Errorf("lost are %v", x)
	}
	s := stream(t, broken, shuffle.Worker{}, StreamOptions{BatchSize: 7})
	for err := error(nil); err == nil; {
		var dr *Draw
		if dr, err = s.Next(t.Context()); err == nil {
			dr.Release()
		} else if !errors.Is(err, shard.ErrChanged) {
			t.Errorf("under raise the stream ends with %v", err)
		}
	}
}

// Under a filter, data that one of four ranks loses in mid-epoch leaves all ranks in step, whatever
// is lost.
func TestLostRowsOfOneRankUnderAFilter(t *testing.T) {
	groups, _ := uneven()
	for _, c := range lossCases() {
		if c.name == "first" {
			continue
		}
		if c.name == "corrupt" { // in a column that the filter does not read, so that it is counted
			c.before = func(t *testing.T, s *memstore.Store) { damageColumn(t, s, "data/part-002.parquet", 3, 1) }
		}
		for _, onError := range []OnError{Mask, Skip} {
			t.Run(fmt.Sprintf("%s/%s", c.name, onError), func(t *testing.T) {
				o := Options{Order: Order{Shuffle: true, Seed: 3, Lanes: 6, Tail: shuffle.Pad}, ShuffleBuffer: Size{Rows: 150}, Choice: Choice{Filters: "hash(id) % 3 != 0"}, Losses: Losses{OnError: onError}}
				whole := open(t, files(t, groups, noImage), o)
				store := files(t, groups, noImage)
				c.before(t, store)
				o.IndexDir = filepath.Join(t.TempDir(), "index")
				if _, _, reads := counted(t, store, o); reads == 0 {
					t.Fatal("nothing was counted")
				}
				broken := open(t, store, o) // which reads nothing: else shards that it has open could be read
				for rank := range 4 {
					w := shuffle.Worker{Rank: rank, WorldSize: 4}
					s := stream(t, whole, w, StreamOptions{BatchSize: 7})
					for range 2 {
						dr, err := s.Next(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						dr.Release()
					}
					state := s.State()
					if rank == 2 {
						c.then(t, store)
						if compareLost(t, whole, broken, w, StreamOptions{State: &state}, onError, c.lost) == 0 {
							t.Error("nothing was lost")
						}
						continue
					}
					compareLost(t, whole, whole, w, StreamOptions{State: &state}, onError, func(int64) bool { return false })
				}
			})
		}
	}
}
