package iterable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/estimate"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/rule"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
	"github.com/shardfeed/shardfeed/shuffle"
)

func taker(t testing.TB, d *Dataset, o TakerOptions) *Taker {
	t.Helper()
	x, err := d.Taker(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if used := x.account.Used(); used != (mem.Amounts{}) {
			t.Errorf("still taken after Close: %v", used)
		}
	})
	return x
}

// takeRows checks that a taker returns the rows that were asked for. The id of a row is its number.
func takeRows(t testing.TB, x *Taker, rows []int64) {
	t.Helper()
	d, err := x.Take(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if got := ids(t, x.dataset.Schema(), d); !slices.Equal(got, rows) {
		t.Fatalf("rows %v, want %v", got, rows)
	}
}

// randomRows are numbers below n, some of them several times.
func randomRows(r *rand.Rand, n int64, count int) []int64 {
	rows := make([]int64, count)
	for i := range rows {
		rows[i] = r.Int64N(n)
	}
	return rows
}

func TestTakeReturnsTheRowsThatWereAskedFor(t *testing.T) {
	groups, n := uneven()
	store := files(t, groups, func(id int64) int { return int(id % 40) })
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range []Options{{}, {Order: Order{UnitRows: 8}}, {Reading: Reading{Columns: []string{"id"}}}, {Order: Order{Shuffle: true, Seed: 3}}} {
		t.Run(fmt.Sprintf("%d columns, unit_rows %d, shuffle %t", len(o.Columns), o.UnitRows, o.Shuffle), func(t *testing.T) {
			x := taker(t, open(t, store, o), TakerOptions{})
			if x.Len() != n {
				t.Fatalf("%d rows, want %d", x.Len(), n)
			}
			all := make([]int64, n)
			for i := range all {
				all[i] = n - 1 - int64(i)
			}
			takeRows(t, x, all)
			takeRows(t, x, nil)
			takeRows(t, x, []int64{0, n - 1, 0, 0})
			for range 50 {
				takeRows(t, x, randomRows(r, n, 1+r.IntN(60)))
			}
		})
	}
}

func TestTakeOfNumbersThatAreNotThere(t *testing.T) {
	x := taker(t, open(t, files(t, [][]int{{3, 4}}, noImage), Options{}), TakerOptions{})
	for _, row := range []int64{-1, 7, 1 << 60, -1 << 63} {
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			_, err := x.Take(t.Context(), []int64{2, row, 3})
			var wrong *RowError
			if !errors.As(err, &wrong) || wrong.Row != row || wrong.Rows != 7 {
				t.Errorf("error %v", err)
			}
		})
	}
	none := taker(t, open(t, files(t, [][]int{{}}, noImage), Options{}), TakerOptions{})
	takeRows(t, none, nil)
	if _, err := none.Take(t.Context(), []int64{0}); err == nil || !contains(err.Error(), "has no rows") {
		t.Errorf("error %v", err)
	}
}

// Calls at the same time get their rows, and each unit is decoded once when all of them fit.
func TestTakeDecodesEachUnitOnce(t *testing.T) {
	groups, n := uneven()
	d := open(t, files(t, groups, noImage), Options{})
	x := taker(t, d, TakerOptions{Parallel: 3})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(i)))
			for range 20 {
				takeRows(t, x, randomRows(r, n, 30))
			}
		})
	}
	all.Wait()
	if units := x.Stats().Units; units > int64(x.numbers.units.Len()) {
		t.Errorf("%d units were decoded, of %d", units, x.numbers.units.Len())
	}
}

// small is a taker with room for about so many of its units, which are row groups of 64 pictures.
func small(t *testing.T, units int64) (x *Taker, rows int64) {
	t.Helper()
	d := open(t, pictures(t), Options{Reading: Reading{Columns: []string{"id", "label", "image"}}})
	n, err := d.numbering()
	if err != nil {
		t.Fatal(err)
	}
	b := d.takerBound(n, TakerOptions{})
	memory := b.least().Total() + (units-1)*b.load.Bytes()
	return taker(t, d, TakerOptions{Memory: memory, Parallel: 2}), n.rows()
}

// full leaves a taker no more room than its units take: they may be smaller than was foretold.
func full(x *Taker) {
	var cost int64
	for i := range x.numbers.units.All() {
		cost = max(cost, x.cost(int32(i)))
	}
	x.cache.Yield(x.Room()-max(x.account.Used()[mem.Shuffle], cost), 0)
}

// Under any number of callers the account stays within its reservation, and what the pool holds
// within the account.
func TestTakeStaysWithinItsMemory(t *testing.T) {
	x, n := small(t, 4)
	reserved := x.account.Reserved()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for range 40 {
				takeRows(t, x, randomRows(r, n, 1+r.IntN(2)))
			}
		})
	}
	all.Wait()
	by, _ := x.account.Peak()
	if most := reserved[mem.Shuffle] + reserved[mem.Decode]; by[mem.Shuffle] > x.Room() || by[mem.Shuffle]+by[mem.Decode] > most+2*estimate.FreeScratch {
		t.Errorf("room for %d, reserved %v, peak %v", x.Room(), reserved, by)
	}
	if units := x.Stats().Units; units <= int64(x.numbers.units.Len()) {
		t.Errorf("%d units were decoded: none was dropped", units)
	}
}

// The units that were used least recently are dropped.
func TestTakeDropsWhatWasUsedLeastRecently(t *testing.T) {
	x, _ := small(t, 3)
	decodes := func(row, want int64) {
		t.Helper()
		before := x.Stats().Units
		takeRows(t, x, []int64{row})
		if got := x.Stats().Units - before; got != want {
			t.Errorf("row %d: %d units decoded, want %d", row, got, want)
		}
	}
	unit := func(i int) int64 { return x.numbers.first(i) }
	for i := range 3 {
		decodes(unit(i), 1)
	}
	x.cache.Yield(x.Room()-(x.account.Used()[mem.Shuffle]+x.cost(3)-1), 0)
	decodes(unit(0), 0)
	decodes(unit(3), 1) // in the place of unit 1
	decodes(unit(0), 0)
	decodes(unit(2), 0)
	decodes(unit(1), 1)
}

func TestTakeOfMoreThanTheMemory(t *testing.T) {
	x, _ := small(t, 2)
	rows := []int64{0, x.numbers.first(1), x.numbers.first(2)}
	_, err := x.Take(t.Context(), rows)
	var over *TakeError
	if !errors.As(err, &over) || over.Units != 3 || over.Rows != 3 || over.Need <= over.Room {
		t.Fatalf("error %v", err)
	}
	if units := x.Stats().Units; units != 0 {
		t.Errorf("%d units were decoded first", units)
	}
	takeRows(t, x, rows[:2])
}

// A call waits for memory until draws are released, in the order in which calls came, or until its
// context ends.
func TestTakeWaitsForRoom(t *testing.T) { synctest.Test(t, takeWaitsForRoom) }

func takeWaitsForRoom(t *testing.T) {
	x, _ := small(t, 2)
	first, err := x.Take(t.Context(), []int64{0, x.numbers.first(1)})
	if err != nil {
		t.Fatal(err)
	}
	full(x)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := x.Take(ctx, []int64{x.numbers.first(2)})
		given <- err
	}()
	synctest.Wait()
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	came := make(chan int, 2)
	for i := range 2 {
		go func() {
			takeRows(t, x, []int64{x.numbers.first(2 + i)})
			came <- i
		}()
		synctest.Wait()
	}
	if len(came) != 0 {
		t.Error("there was room for three units")
	}
	first.Release()
	if a, b := <-came, <-came; a+b != 1 {
		t.Errorf("calls %d and %d came", a, b)
	}
}

// A unit that cannot be read is one error that names it, and the next call tries again.
func TestTakeTriesAgainWhatFailed(t *testing.T) {
	broken := errors.New("the cable is out")
	store := files(t, [][]int{{20, 20}, {20, 20}}, noImage)
	faults := shardtest.NewFaults(plain{store}, shardtest.Rule{Op: shardtest.OpRead, Path: "/part-001.parquet", From: 2, Count: 1, Err: broken})
	x := taker(t, open(t, faults, Options{}), TakerOptions{})
	_, err := x.Take(t.Context(), []int64{1, 41})
	if !errors.Is(err, broken) || !contains(err.Error(), "part-001.parquet") {
		t.Fatalf("error %v", err)
	}
	takeRows(t, x, []int64{1, 41})
	if units := x.Stats().Units; units != 2 {
		t.Errorf("%d units were decoded", units)
	}
}

// A taker closes while draws are out, whose rows stay readable, and calls after that fail.
func TestTakerClosesWithDrawsOut(t *testing.T) {
	d := open(t, files(t, [][]int{{20, 20}}, noImage), Options{})
	x := taker(t, d, TakerOptions{})
	dr, err := x.Take(t.Context(), []int64{3, 30})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := ids(t, d.Schema(), dr); !slices.Equal(got, []int64{3, 30}) {
		t.Errorf("rows %v", got)
	}
	if d.options.Budget.Admitted() == 0 {
		t.Error("the memory was given back while a draw holds it")
	}
	dr.Release()
	if n := d.options.Budget.Admitted(); n != 0 {
		t.Errorf("%d bytes are reserved after the last draw", n)
	}
	if _, err := x.Take(t.Context(), []int64{1}); !errors.Is(err, errTakerClosed) {
		t.Errorf("error %v", err)
	}
}

// Close ends calls that wait.
func TestTakerCloseEndsWaits(t *testing.T) { synctest.Test(t, takerCloseEndsWaits) }

func takerCloseEndsWaits(t *testing.T) {
	x, _ := small(t, 1)
	dr, err := x.Take(t.Context(), []int64{0})
	if err != nil {
		t.Fatal(err)
	}
	full(x)
	ended := make(chan error, 1)
	go func() {
		_, err := x.Take(context.WithoutCancel(t.Context()), []int64{x.numbers.first(1)})
		ended <- err
	}()
	synctest.Wait()
	x.Close()
	if err := <-ended; !errors.Is(err, errTakerClosed) {
		t.Errorf("error %v", err)
	}
	dr.Release()
}

func TestTakerOfTooLittleMemory(t *testing.T) {
	d := open(t, pictures(t), Options{})
	_, err := d.Taker(TakerOptions{Memory: 1 << 20})
	var over *MemoryError
	if !errors.As(err, &over) || over.Limit != 1<<20 || over.Memory == 0 {
		t.Fatalf("error %v", err)
	}
	taker(t, d, TakerOptions{Memory: over.Memory})
}

// What other streams hold of the budget leaves a taker less room, and no error as long as one unit
// fits.
func TestTakerTakesWhatTheBudgetLeaves(t *testing.T) {
	budget := NewBudget(0)
	d := open(t, pictures(t), Options{Resources: Resources{Budget: budget}})
	n, err := d.numbering()
	if err != nil {
		t.Fatal(err)
	}
	least := d.takerBound(n, TakerOptions{}).least().Total()
	d.budget = (*mem.Budget)(NewBudget(2 * least))
	x := taker(t, d, TakerOptions{})
	if got := x.account.Reserved().Total(); got > 2*least || got < least {
		t.Errorf("%d bytes are reserved of %d", got, 2*least)
	}
	if _, err := d.Taker(TakerOptions{}); err == nil {
		t.Error("a second one fits")
	}
}

func TestTakerOptions(t *testing.T) {
	d := open(t, files(t, [][]int{{2}}, noImage), Options{})
	_, err := d.Taker(TakerOptions{Memory: -1, Parallel: -1})
	for _, part := range []string{"Memory must not be", "Parallel must not be"} {
		if err == nil || !contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
	d = open(t, files(t, [][]int{{2}}, noImage), Options{})
	d.options.Weight = "id"
	if _, err := d.Taker(TakerOptions{}); err == nil || !contains(err.Error(), "Weight repeats rows") {
		t.Errorf("error %v", err)
	}
}

func TestTakerLocates(t *testing.T) {
	d := open(t, files(t, [][]int{{3, 4}, {1, 19}}, noImage), Options{Order: Order{UnitRows: 8}})
	x := taker(t, d, TakerOptions{})
	for _, c := range []struct {
		row  int64
		want rowgroup.Rows
	}{
		{0, rowgroup.Rows{Shard: 0, RowGroup: 0, Lo: 0, Hi: 1}},
		{3, rowgroup.Rows{Shard: 0, RowGroup: 1, Lo: 0, Hi: 1}},
		{6, rowgroup.Rows{Shard: 0, RowGroup: 1, Lo: 3, Hi: 4}},
		{7, rowgroup.Rows{Shard: 1, RowGroup: 0, Lo: 0, Hi: 1}},
		{26, rowgroup.Rows{Shard: 1, RowGroup: 1, Lo: 18, Hi: 19}},
	} {
		t.Run(fmt.Sprint(c.row), func(t *testing.T) {
			if got, err := x.Locate(t.Context(), c.row); got != c.want || err != nil {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
	if _, err := x.Locate(t.Context(), 27); err == nil || err.Error() != "there is no row 27: the data set has 27 rows, numbered from 0 to 26" {
		t.Errorf("error %v", err)
	}
}

// A stream and a taker of one data set have nothing to do with each other.
func TestTakerBesideAStream(t *testing.T) {
	groups, n := uneven()
	d := open(t, files(t, groups, noImage), Options{Order: Order{Shuffle: true}})
	x := taker(t, d, TakerOptions{})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16})
	r := rand.New(rand.NewPCG(9, 9))
	for range rest(t, s) {
		takeRows(t, x, randomRows(r, n, 5))
	}
}

// Under a rule, numbers are those of the rows that it keeps.
func TestTakeUnderARule(t *testing.T) {
	groups, n := uneven()
	store := files(t, groups, noImage)
	for _, c := range []struct {
		name string
		o    Options
		keep func(id int64) bool
	}{
		{"a filter", Options{Choice: Choice{Filters: `label in ("label 1", "label 4")`}}, func(id int64) bool { return id%7 == 1 || id%7 == 4 }},
		{"most rows", Options{Choice: Choice{Filters: `label != "label 2"`}, Reading: Reading{Columns: []string{"id"}}}, func(id int64) bool { return id%7 != 2 }},
		{"few rows", Options{Choice: Choice{Split: rule.Split{Subsample: 0.1, Seed: 3}}}, nil},
		{"few rows in cut units", Options{Choice: Choice{Filters: `id between 60 and 70`}, Order: Order{UnitRows: 8}}, func(id int64) bool { return id >= 60 && id <= 70 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(t.Context(), shard.Stores{"mem": store}, []string{"mem://data/"}, c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			x := taker(t, d, TakerOptions{})
			defer x.Close()
			var kept []int64
			for id := range n {
				if c.keep != nil && c.keep(id) {
					kept = append(kept, id)
				}
			}
			if c.keep == nil {
				for _, dr := range rest(t, stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 1})) {
					kept = append(kept, dr.ids...)
				}
			}
			if x.Len() != int64(len(kept)) {
				t.Fatalf("%d rows, want %d", x.Len(), len(kept))
			}
			r := rand.New(rand.NewPCG(3, 4))
			for range 20 {
				rows := randomRows(r, x.Len(), 90) // of most units at once
				dr, err := x.Take(t.Context(), rows)
				if err != nil {
					t.Fatal(err)
				}
				for i, id := range ids(t, d.Schema(), dr) {
					if id != kept[rows[i]] {
						t.Fatalf("row %d has id %d, want %d", rows[i], id, kept[rows[i]])
					}
				}
				dr.Release()
				at, err := x.Locate(t.Context(), rows[0])
				if err != nil {
					t.Fatal(err)
				}
				g := 0
				for g < len(d.sources[0].data.Groups)-1 && (int(d.sources[0].data.Groups[g].Shard) != at.Shard || int(d.sources[0].data.Groups[g].Index) != at.RowGroup) {
					g++
				}
				if number := d.sources[0].manifest.Groups()[g].First + at.Lo; number != kept[rows[0]] {
					t.Fatalf("row %d lies at row %d of the data, want %d", rows[0], number, kept[rows[0]])
				}
			}
			if used := x.account.Used(); used[mem.Fetch] != 0 || used[mem.Decode] != 0 {
				t.Errorf("still taken: %v", used)
			}
		})
	}
}

// All rows fit at once where there is memory for them, also when blocks turn out somewhat larger
// than was foretold.
func TestTakeOfAllRows(t *testing.T) {
	groups, n := uneven()
	d := open(t, files(t, groups, noImage), Options{})
	foretold := d.sources[0].sizes.decoded
	d.sources[0].sizes.decoded = func(g int) estimate.Group {
		less := foretold(g)
		less.Narrow -= less.Narrow / 10
		less.Whole = min(less.Whole, less.Narrow)
		return less
	}
	x := taker(t, d, TakerOptions{})
	takeRows(t, x, []int64{0})
	if used := x.account.Used()[mem.Shuffle]; used <= x.cost(0) {
		t.Errorf("unit 0 takes %d bytes, and %d were foretold: the test needs more", used, x.cost(0))
	}
	takeRows(t, x, []int64{0, 70, 200, 300})
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	takeRows(t, x, all)
}
