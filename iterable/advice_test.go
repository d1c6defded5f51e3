package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/shuffle"
)

// What the error about too little memory says to change is admitted at the first try, whatever the
// table and the options.
func TestMemoryAdviceFits(t *testing.T) {
	var buffers, memories, ways uint64
	seeds := uint64(80)
	if racetest.Enabled {
		seeds = 40
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			o, so, w := randomOptions(r)
			store := files(t, randomGroups(r), randomImages(r))
			admit := func() error {
				d := open(t, store, o)
				s, err := d.Stream(t.Context(), w, so)
				if err == nil {
					err = s.Close()
				}
				return err
			}
			var refused *MemoryError
			if err := admit(); err == nil {
				return
			} else if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			for _, way := range refused.Ways {
				was, wasStream := o, so
				if follow(way, &o, &so) {
					ways++
					if err := admit(); err != nil {
						t.Errorf("memory %d, %+v: refused by %v\n%s is refused too: %v", was.Memory, wasStream, refused, way, err)
					}
				}
				o, so = was, wasStream
			}
			before := o.Memory
			switch {
			case refused.Buffer > 0:
				buffers++
				o.ShuffleBuffer = Size{Rows: refused.Buffer}
			case refused.Memory > 0:
				memories++
				o.Memory = refused.Memory
				o.StoreMemory = o.StoreMemory * o.Memory / before // like a caller that gives the stores a share
			default:
				t.Fatalf("no advice: %v", refused)
			}
			if err := admit(); err != nil {
				t.Errorf("memory %d, %+v: refused by %v\nthe advice is refused too: %v", before, so, refused, err)
			}
		})
	}
	if buffers < seeds/20 || memories < seeds/10 || ways == 0 {
		t.Errorf("%d times another buffer, %d times more memory, %d times other options: too few to say much", buffers, memories, ways)
	}
}

// A search for unit_rows ends where smaller units need more memory: a large file has too many of
// them to try all.
func TestUnitRowsTried(t *testing.T) {
	d := open(t, files(t, [][]int{{4096}}, noImage), Options{Order: Order{Shuffle: true}})
	for _, c := range []struct {
		needs []int64 // of 2048 rows, 512, 128; 0 is an error, and 1 fits
		tries int
		found int64
	}{
		{[]int64{9, 8, 1}, 3, 128},
		{[]int64{9, 9, 1}, 3, 128},
		{[]int64{8, 9, 1}, 2, 0},
		{[]int64{9, 0, 1}, 2, 0},
		{[]int64{1}, 1, 2048},
	} {
		tries := 0
		w := waysOut{dataset: d, fits: func(*Dataset, int) (int64, bool) {
			tries++
			return c.needs[tries-1], c.needs[tries-1] == 1
		}}
		if found := w.unitRows(); found != c.found || tries != c.tries {
			t.Errorf("needs of %d: found %d in %d tries, want %d in %d", c.needs, found, tries, c.found, c.tries)
		}
	}
}

// follow sets the option that an advice names, and reports whether it names one.
func follow(way string, o *Options, so *StreamOptions) bool {
	rows, _ := fmt.Sscanf(way, "set {UnitRows} to %d", &o.UnitRows)
	batch, _ := fmt.Sscanf(way, "set {BatchSize} to %d", &so.BatchSize)
	return rows+batch > 0
}

func randomOptions(r *rand.Rand) (Options, StreamOptions, shuffle.Worker) {
	o := Options{
		Order: Order{Shuffle: r.IntN(8) > 0, Seed: r.Uint64(), Lanes: r.IntN(2) * r.IntN(5), UnitRows: r.Int64N(4) / 2 * (10 + r.Int64N(50))}, Resources: Resources{Memory: 1<<20 + r.Int64N(24<<20)},
	}
	if r.IntN(2) == 0 {
		o.ShuffleBuffer.Rows = 1 + r.Int64N(2000)
	}
	if r.IntN(3) == 0 {
		o.StoreMemory = o.Memory / 8
	}
	tails := []shuffle.Tail{shuffle.Pad, shuffle.Short, shuffle.Carry}
	so := StreamOptions{BatchSize: 1 + r.IntN(60), Tail: tails[r.IntN(3)], Draws: 1 + r.IntN(3), Batches: r.IntN(5), Parallel: 1}
	w := shuffle.Worker{WorldSize: 1 + r.IntN(3)}
	w.Rank = r.IntN(w.WorldSize)
	return o, so, w
}

func randomGroups(r *rand.Rand) (groups [][]int) {
	for range 1 + r.IntN(4) {
		var shard []int
		for range 1 + r.IntN(6) {
			shard = append(shard, 1+r.IntN(300))
		}
		groups = append(groups, shard)
	}
	return groups
}

func randomImages(r *rand.Rand) func(int64) int {
	most := 1 + r.IntN(30<<10)
	if r.IntN(3) == 0 {
		return noImage
	}
	return func(id int64) int { return int(id*7919) % most }
}

// The advice is the smallest memory that fits, and each face spells the names of options.
func TestMemoryAdvice(t *testing.T) {
	store := files(t, [][]int{{1000}}, func(int64) int { return 10_000 })
	so := StreamOptions{BatchSize: 8, Parallel: 1}
	_, err := open(t, store, Options{Resources: Resources{Memory: 2 << 20}}).Stream(t.Context(), shuffle.Worker{}, so)
	var e *MemoryError
	if !errors.As(err, &e) || e.Memory == 0 || e.Buffer != 0 {
		t.Fatalf("got %v", err)
	}
	want := fmt.Sprintf("raise Memory to %dMiB, or read fewer Columns, or set BatchSize to 4", e.Memory>>20)
	if !contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := e.Spelled(func(field string) string { return "--" + field }); !contains(got, "raise --Memory to") {
		t.Errorf("got %s", got)
	}
	if s, err := open(t, store, Options{Resources: Resources{Memory: e.Memory - 1<<20}}).Stream(t.Context(), shuffle.Worker{}, so); err == nil {
		s.Close()
		t.Errorf("a limit of 1 MiB less than %d would do", e.Memory)
	}
}

// Where the machine has too little for it, no amount is named.
func TestMemoryAdviceOfASmallMachine(t *testing.T) {
	store := files(t, [][]int{{1000}}, func(int64) int { return 10_000 })
	_, err := open(t, store, Options{Resources: Resources{Budget: NewBudget(4 << 20)}}).Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 8, Parallel: 1})
	if err == nil || contains(err.Error(), "raise") || contains(err.Error(), "end one of the others") || !contains(err.Error(), "read fewer Columns") {
		t.Errorf("got %v", err)
	}
}
