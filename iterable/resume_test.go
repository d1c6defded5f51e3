package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// globalRows reads the steps of all ranks side by side, up to limit steps (0: to the end), and
// returns the rows of each step over all ranks and the state after them.
func globalRows(t *testing.T, d *Dataset, world int, o StreamOptions, limit int) ([][]int64, shuffle.State) {
	t.Helper()
	var steps [][]int64
	var state shuffle.State
	for rank := range world {
		s := stream(t, d, shuffle.Worker{Rank: rank, WorldSize: world}, o)
		var all []drawn
		if limit == 0 {
			all = rest(t, s)
		}
		for range limit {
			dr, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := s.State(); got != dr.State {
				t.Fatalf("the stream's state is %s, the draw's %s", got.JSON(), dr.State.JSON())
			}
			all = append(all, take(t, s, dr))
		}
		for i, x := range all {
			if i == len(steps) {
				steps = append(steps, nil)
			}
			steps[i] = append(steps[i], x.ids[:x.valid]...)
		}
		if rank > 0 && string(s.State().JSON()) != string(state.JSON()) {
			t.Fatalf("ranks have different states: %s and %s", state.JSON(), s.State().JSON())
		}
		state = s.State()
		s.Close()
	}
	for _, x := range steps {
		slices.Sort(x)
	}
	return steps, state
}

func reparse(t *testing.T, s shuffle.State) *shuffle.State {
	t.Helper()
	out, err := shuffle.ParseState(s.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// Every step of a run of two epochs can be resumed: what follows is what would have followed.
func TestResumeAtEveryStep(t *testing.T) {
	store := files(t, [][]int{{12, 5}, {20}, {9, 1, 14}}, noImage)
	for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		for _, shuffled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s shuffle %t", tail, shuffled), func(t *testing.T) {
				d := open(t, store, Options{Order: Order{Shuffle: shuffled, Seed: 3, Tail: tail, Lanes: 4}, ShuffleBuffer: Size{Rows: 30}})
				s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 7, Epochs: 2})
				var states []shuffle.State
				states = append(states, s.State())
				var want []drawn
				for {
					dr, err := s.Next(t.Context())
					if err != nil {
						break
					}
					want = append(want, take(t, s, dr))
					states = append(states, s.State())
				}
				for i, state := range states {
					if n := len(state.JSON()); n > 1024 {
						t.Errorf("state of %d bytes", n)
					}
					left := 2 - int(state.Epoch)
					if left <= 0 {
						continue
					}
					r := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 7, Epochs: left, State: reparse(t, state)})
					got := rest(t, r)
					if fmt.Sprint(got) != fmt.Sprint(want[i:]) {
						t.Fatalf("after step %d: got\n%v, want\n%v", i, got, want[i:])
					}
					r.Close()
				}
			})
		}
	}
}

// A run that is stopped at random steps and goes on at other world sizes has the same global
// sequence as one that is not.
func TestElasticResume(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	r := rand.New(rand.NewPCG(1, 2))
	for _, shuffled := range []bool{true, false} {
		t.Run(fmt.Sprintf("shuffle %t", shuffled), func(t *testing.T) {
			for range 6 {
				d := open(t, store, Options{Order: Order{Shuffle: shuffled, Seed: 9, MaxWorldSize: 4}, ShuffleBuffer: Size{Rows: 150}})
				const g = 24
				want, _ := globalRows(t, d, 2, StreamOptions{BatchSize: g / 2}, 0)
				var got [][]int64
				var state *shuffle.State
				for len(got) < len(want) {
					world := []int{1, 2, 3, 4, 6, 8}[r.IntN(6)]
					n := min(1+r.IntN(10), len(want)-len(got))
					if state == nil {
						world = 2
					}
					steps, after := globalRows(t, d, world, StreamOptions{BatchSize: g / world, State: state}, n)
					got = append(got, steps...)
					state = reparse(t, after)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("got\n%v\nwant\n%v", got, want)
				}
				if state.Epoch != 1 || state.Position != 0 {
					t.Errorf("after the last step: epoch %d, position %d", state.Epoch, state.Position)
				}
			}
		})
	}
}

func TestStateOfOtherData(t *testing.T) {
	d := open(t, files(t, [][]int{{12, 5}, {20}}, noImage), Options{Order: Order{Shuffle: true}, ManifestDir: t.TempDir()})
	if _, err := d.SaveManifest(d.options.ManifestDir); err != nil {
		t.Fatal(err)
	}
	state := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4}).State()
	other := open(t, files(t, [][]int{{12, 5}, {20}, {1}}, noImage), Options{Order: Order{Shuffle: true}, ManifestDir: d.options.ManifestDir})
	_, err := other.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 4, State: &state})
	if err == nil || !contains(err.Error(), "added part-002.parquet") || !contains(err.Error(), "37 rows then, 38 rows now") {
		t.Errorf("error %v", err)
	}
}

// A run finishes its epoch on the list that it began with while shards are added, and notices one
// that changed.
func TestSavedManifest(t *testing.T) {
	store := files(t, [][]int{{12, 5}, {20}}, noImage)
	d := open(t, store, Options{Order: Order{Shuffle: true}})
	path, err := d.SaveManifest(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	for range 3 {
		dr, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dr.Release()
	}
	state := s.State()
	want := rest(t, s)

	store.Put("data/a-new-one.parquet", content(t, files(t, [][]int{{3}}, noImage), "data/part-000.parquet"))
	saved, err := ReadManifest(path)
	if err != nil {
		t.Fatal(err)
	}
	old := open(t, store, Options{Order: Order{Shuffle: true}, Manifest: saved})
	got := rest(t, stream(t, old, shuffle.Worker{}, StreamOptions{BatchSize: 4, State: reparse(t, state)}))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	if now := open(t, store, Options{Order: Order{Shuffle: true}}); now.NumRows() != 40 {
		t.Errorf("%d rows without the saved manifest", now.NumRows())
	}

	store.Put("data/part-001.parquet", content(t, files(t, [][]int{{20}}, noImage), "data/part-000.parquet"))
	store.Remove("data/part-000.parquet")
	var e *ManifestError
	_, err = Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, Options{Manifest: saved})
	if !errors.As(err, &e) || len(e.Differences) != 2 || !contains(err.Error(), "removed part-000.parquet") || !contains(err.Error(), "changed part-001.parquet") {
		t.Errorf("error %v", err)
	}
}

func content(t *testing.T, store shard.Store, name string) []byte {
	t.Helper()
	list, err := store.List(t.Context(), "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := store.Open(t.Context(), list[0])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	b := make([]byte, list[0].Size)
	if err := o.ReadAt(t.Context(), b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}
