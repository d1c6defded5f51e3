package iterable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// damage destroys the first page of a row group of a shard.
func damage(t *testing.T, store *memstore.Store, name string, group int) {
	t.Helper()
	damageColumn(t, store, name, group, 0)
}

func damageColumn(t *testing.T, store *memstore.Store, name string, group, column int) {
	t.Helper()
	content := bytes.Clone(readShard(t, store, name))
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	at := f.Metadata().RowGroups[group].Columns[column].MetaData.DataPageOffset
	copy(content[at:], bytes.Repeat([]byte{0xff}, 16))
	store.Put(name, content)
}

func readShard(t *testing.T, store *memstore.Store, name string) []byte {
	t.Helper()
	all, err := store.List(t.Context(), "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := store.Open(t.Context(), all[0])
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, all[0].Size)
	if err := errors.Join(o.ReadAt(t.Context(), content, 0), o.Close()); err != nil {
		t.Fatal(err)
	}
	return content
}

// A lossCase is data that is lost in one of the ways, and the ids of its rows.
type lossCase struct {
	name         string
	before, then func(t *testing.T, store *memstore.Store) // the shards are listed
	lost         func(id int64) bool
	err          error
}

func lossCases() []lossCase {
	nothing := func(*testing.T, *memstore.Store) {}
	shard2 := func(id int64) bool { return id >= 61 && id < 261 } // of uneven
	return []lossCase{
		{"corrupt", func(t *testing.T, s *memstore.Store) { damage(t, s, "data/part-002.parquet", 3) }, nothing, func(id int64) bool { return id >= 136 && id < 161 }, nil},
		{"gone", nothing, func(_ *testing.T, s *memstore.Store) { s.Remove("data/part-002.parquet") }, shard2, shard.ErrNotExist},
		{"changed", nothing, func(t *testing.T, s *memstore.Store) {
			s.Put("data/part-002.parquet", readShard(t, s, "data/part-003.parquet"))
		}, shard2, shard.ErrChanged},
		{"first", func(t *testing.T, s *memstore.Store) { damage(t, s, "data/part-000.parquet", 0) }, nothing, func(id int64) bool { return id < 10 }, nil},
	}
}

// What is lost is left out of its steps; all else is as if it was there: positions, states, and the
// rows of each step.
func TestLostRows(t *testing.T) {
	groups, _ := uneven()
	tails := []shuffle.Tail{shuffle.Pad, shuffle.Carry, shuffle.Short, shuffle.Drop}
	if racetest.Enabled {
		tails = tails[:2]
	}
	for _, c := range lossCases() {
		for _, shuffled := range []bool{true, false} {
			for _, tail := range tails {
				for _, onError := range []OnError{Mask, Skip} {
					t.Run(fmt.Sprintf("%s/shuffle %t/%s/%s", c.name, shuffled, tail, onError), func(t *testing.T) {
						o := Options{Order: Order{Shuffle: shuffled, Seed: 3, Lanes: 6, Tail: tail}, ShuffleBuffer: Size{Rows: 150}}
						whole := open(t, files(t, groups, noImage), o)
						store := files(t, groups, noImage)
						c.before(t, store)
						broken := open(t, store, o)
						c.then(t, store)
						missing := int64(0)
						for rank := range 3 {
							missing += compareLost(t, whole, broken, shuffle.Worker{Rank: rank, WorldSize: 3}, StreamOptions{}, onError, c.lost)
						}
						if missing == 0 {
							t.Error("nothing was lost")
						}
						for _, x := range broken.Losses() {
							if c.err != nil && !errors.Is(x.Err, c.err) {
								t.Errorf("lost by %v, want %v", x.Err, c.err)
							}
						}
					})
				}
			}
		}
	}
}

// compareLost compares the steps of a rank with those of undamaged data.
func compareLost(t *testing.T, whole, broken *Dataset, w shuffle.Worker, so StreamOptions, onError OnError, lost func(int64) bool) (missing int64) {
	t.Helper()
	so.BatchSize, so.Epochs = 7, 2
	want := stream(t, whole, w, so)
	before := broken.options.Losses
	defer func() { broken.options.Losses = before }()
	broken.options.Losses = Losses{OnError: onError, MaxLost: 1}
	got := stream(t, broken, w, so)
	for step := 0; ; step++ {
		a, errA := want.Next(t.Context())
		b, errB := got.Next(t.Context())
		if errA != nil || errB != nil {
			if !errors.Is(errB, errA) {
				t.Fatalf("step %d ends with %v, want %v", step, errB, errA)
			}
			break
		}
		if a.State.Position != b.State.Position || a.State.Epoch != b.State.Epoch || a.Step != b.Step {
			t.Fatalf("step %d is at %d of epoch %d, want %d of %d", step, b.State.Position, b.State.Epoch, a.State.Position, a.State.Epoch)
		}
		x, y := ids(t, whole.Schema(), a), ids(t, broken.Schema(), b)
		kept := slices.DeleteFunc(slices.Clone(x[:a.Valid]), lost)
		if !slices.Equal(kept, y[:b.Valid]) || b.Lost != a.Valid-len(kept) {
			t.Fatalf("step %d has %v with %d lost, want %v with %d", step, y[:b.Valid], b.Lost, kept, a.Valid-len(kept))
		}
		rows := a.Rows
		if onError == Skip {
			rows -= b.Lost
		}
		if b.Rows != rows || slices.ContainsFunc(y, lost) {
			t.Fatalf("step %d has %d rows (%v), want %d, none of them lost", step, b.Rows, y, rows)
		}
		missing += int64(b.Lost)
		a.Release()
		b.Release()
	}
	if got.Stats().Lost != missing {
		t.Errorf("%d rows are lost in the statistics, %d in the draws", got.Stats().Lost, missing)
	}
	if used := got.account.Used(); used[mem.Shuffle] < 0 || used[mem.Decode] < 0 || used[mem.Fetch] < 0 {
		t.Errorf("the account has %v", used)
	}
	return missing
}

// Each place is reported once, whichever streams meet it, with all that a user needs to find it.
func TestLossesAreNamed(t *testing.T) {
	groups, _ := uneven()
	store := files(t, groups, noImage)
	damage(t, store, "data/part-002.parquet", 3)
	var told []Loss
	d := open(t, store, Options{Losses: Losses{OnError: Mask, MaxLost: 1}, Events: Events{Lost: func(x Loss) { told = append(told, x) }}})
	for range 2 {
		rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Epochs: 2}))
	}
	if len(told) != 1 || !slices.EqualFunc(told, d.Losses(), func(a, b Loss) bool { return a.String() == b.String() }) {
		t.Fatalf("told of %v, listed are %v, want one", told, d.Losses())
	}
	x := told[0]
	if !strings.HasSuffix(x.URI, "part-002.parquet") || x.RowGroup != 3 || x.Lo != 0 || x.Hi != 25 || x.Column != "id" || x.Page < 4 {
		t.Errorf("lost is %+v", x)
	}
	if text := x.String(); !contains(text, "rows 0 to 24 are lost: ") || !contains(text, "part-002.parquet: row group 3, column \"id\", page at byte") {
		t.Errorf("it reads %q", text)
	}
}

// One place may always be lost; more only up to the share of the epoch's rows.
func TestMostLost(t *testing.T) {
	groups, _ := uneven()
	for _, c := range []struct {
		name    string
		groups  []int // damaged, of 25 rows each
		maxLost float64
		fails   bool
	}{
		{"one place", []int{3}, 0, false},
		{"two places", []int{3, 5}, 0, true},
		{"two places of two", []int{3, 5}, 50.0 / 850, false},
		{"a row too many", []int{3, 5}, 49.0 / 850, true},
	} {
		for _, shuffled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/shuffle %t", c.name, shuffled), func(t *testing.T) {
				store := files(t, groups, noImage)
				for _, g := range c.groups {
					damage(t, store, "data/part-002.parquet", g)
				}
				d := open(t, store, Options{Order: Order{Shuffle: shuffled, Seed: 1}, Losses: Losses{OnError: Skip, MaxLost: c.maxLost}})
				s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4, Tail: shuffle.Short, Epochs: 3})
				err := error(nil)
				for err == nil {
					var dr *Draw
					if dr, err = s.Next(t.Context()); err == nil {
						dr.Release()
					}
				}
				var over *LostError
				if errors.As(err, &over) != c.fails {
					t.Fatalf("ends with %v", err)
				}
				if c.fails && (!contains(err.Error(), "part-002.parquet: row group") || !contains(err.Error(), "MaxLost=") || over.Rows != 850) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// failing is a store whose opens fail once fail is set.
type failing struct {
	*memstore.Store
	fail atomic.Pointer[error]
}

func (f *failing) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	if err := f.fail.Load(); err != nil {
		return nil, *err
	}
	return f.Store.Open(ctx, x)
}

// What may pass, or the user can mend, is never a loss.
func TestPassingFaultsAreNoLoss(t *testing.T) {
	groups, _ := uneven()
	for _, fault := range []error{shard.ErrTransient, shard.ErrDenied, errors.New("the cable is out")} {
		t.Run(fault.Error(), func(t *testing.T) {
			store := &failing{Store: files(t, groups, noImage)}
			d := open(t, store, Options{Losses: Losses{OnError: Mask, MaxLost: 1}})
			store.fail.Store(&fault)
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
			if _, err := s.Next(t.Context()); !errors.Is(err, fault) {
				t.Errorf("error %v, want %v", err, fault)
			}
		})
	}
}

func TestLostOptions(t *testing.T) {
	for _, c := range []struct {
		o    Losses
		want string
	}{
		{Losses{OnError: "ignore"}, `OnError must be raise, mask or skip, got "ignore"`},
		{Losses{OnError: Mask, MaxLost: 1.5}, "MaxLost must be a share from 0 to 1, got 1.5"},
		{Losses{MaxLost: 0.5}, `MaxLost needs OnError "mask" or "skip", got 0.5 alone`},
	} {
		t.Run(c.want, func(t *testing.T) {
			if err := (Options{Losses: c.o}).Validate(); err == nil || err.Error() != c.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A word that a vocabulary lacks is the user's to mend.
func TestTransformErrorIsNoLoss(t *testing.T) {
	groups, _ := uneven()
	d := open(t, files(t, groups, noImage), Options{Losses: Losses{OnError: Mask, MaxLost: 1}, Words: Words{Vocabulary: map[string][]string{"label": {"label 0", "label 1"}}}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 4})
	if _, err := s.Next(t.Context()); err == nil || !contains(err.Error(), "label 2") {
		t.Errorf("error %v", err)
	}
}

// Losses of an epoch add up also where those of a later one come between, as the layer above finds
// them behind the stream.
func TestLossesOfEpochsBetween(t *testing.T) {
	c, err := &losses{Losses: Losses{MaxLost: 0.1}, rows: 100}, errors.New("damaged")
	for i, n := range []struct {
		epoch uint64
		rows  int
		lost  int64 // in the error
	}{{0, 5, 0}, {1, 4, 0}, {0, 5, 0}, {1, 4, 0}, {0, 1, 11}, {lossEpochs + 1, 90, 0}, {1, 9, 0}} {
		got := c.add(n.epoch, 0, n.rows, 1, err)
		var over *LostError
		if errors.As(got, &over); (got != nil) != (n.lost > 0) || over != nil && (over.Lost != n.lost || !errors.Is(got, err)) {
			t.Errorf("step %d: %v", i, got)
		}
	}
	if len(c.epochs) != 2 {
		t.Errorf("%d epochs are counted", len(c.epochs))
	}
}
