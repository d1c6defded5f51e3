package iterable

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// pictureSources are three sources of the pictures, the last one small and in the second as well.
func pictureSources() []Source {
	shard := func(of ...int) (all []string) {
		for _, n := range of {
			all = append(all, fmt.Sprintf("mem://data/part-%03d.parquet", n))
		}
		return all
	}
	return []Source{
		{Name: "a", Addresses: shard(0, 1, 2), Weight: 5},
		{Name: "b", Addresses: shard(3, 4, 5), Weight: 4},
		{Name: "c", Addresses: shard(5), Weight: 1},
	}
}

// What a stream of a mixture holds stays within what it reserved, where sources stay in the buffer
// and where they do not.
func TestMixturePeakWithinTheReservation(t *testing.T) {
	for _, c := range []struct {
		name                   string
		buffer                 int64
		world, draws, parallel int
		epoch                  int64
		least                  int64 // of the reservation that is used, 1/least
		keep                   int
		lanes                  int
		tight                  bool // the limit is what is needed at least
		six                    bool
		batching               shuffle.Batching
	}{
		{name: "none stays", buffer: 600, world: 1, draws: 2, parallel: 1, epoch: 3000, least: 4},
		{name: "one stays", buffer: 3500, world: 1, draws: 4, parallel: 3, epoch: 4000, least: 4, keep: 2},
		{name: "all stay", buffer: 1 << 20, world: 1, draws: 2, parallel: 2, epoch: 6000, least: 4, keep: 3},
		{name: "of four ranks", buffer: 3500, world: 4, draws: 2, parallel: 2, epoch: 4000, least: 6, keep: 2},
		{name: "none stays, within the least", buffer: 2400, world: 1, draws: 1, parallel: 1, epoch: 3000, least: 4, tight: true},
		{name: "six alike, within the least", buffer: 3000, world: 1, draws: 1, parallel: 1, epoch: 7000, least: 4, tight: true, six: true},
		{name: "many lanes", buffer: 600, world: 1, draws: 2, parallel: 2, epoch: 2000, least: 4, lanes: 8},
		{name: "steps of a source, none stays", buffer: 600, world: 1, draws: 2, parallel: 1, epoch: 3000, least: 4, batching: shuffle.PerSource},
		{name: "steps of a source of four ranks", buffer: 3500, world: 4, draws: 2, parallel: 2, epoch: 4000, least: 6, keep: 2, batching: shuffle.PerSource},
		{name: "steps of a source, within the least", buffer: 2400, world: 1, draws: 1, parallel: 1, epoch: 3000, least: 4, tight: true, batching: shuffle.PerSource},
		{name: "steps of a source of three ranks that share lanes", buffer: 600, world: 3, draws: 2, parallel: 2, epoch: 3000, least: 8, lanes: 4, batching: shuffle.PerSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources := pictureSources()
			sources[1].Filters = "hash(id, 7) % 2 = 0"
			if c.six {
				sources = nil
				for i := range 6 {
					sources = append(sources, Source{Name: fmt.Sprint(i), Addresses: []string{fmt.Sprintf("mem://data/part-%03d.parquet", i)}, Weight: 1})
				}
			}
			o := Options{Sources: sources, ShuffleBuffer: Size{Rows: c.buffer}, Mixing: Mixing{EpochSize: c.epoch, Batching: c.batching}, Order: Order{Lanes: c.lanes}}
			d := openMixture(t, pictures(t), o)
			so := StreamOptions{BatchSize: 16, Draws: c.draws, Parallel: c.parallel, Epochs: 2}
			if c.tight {
				p, err := d.Plan(1, so)
				if err != nil {
					t.Fatal(err)
				}
				o.Memory = p.Bound.Total()
				d = openMixture(t, pictures(t), o)
			}
			s := stream(t, d, shuffle.Worker{WorldSize: c.world}, so)
			kept := 0
			for _, m := range sourcesOf(s) {
				if m.of.kept != nil {
					kept++
				}
			}
			if kept != c.keep {
				t.Errorf("%d sources stay, want %d", kept, c.keep)
			}
			releaseInAnyOrder(t, d, s, c.draws, func(*Draw) {})
			reserved := s.account.Reserved()
			peak, most := s.account.Peak()
			live := reserved[mem.Decode] + reserved[mem.Shuffle]
			if most > reserved.Total() || !c.tight && (peak[mem.Fetch] > reserved[mem.Fetch] || peak[mem.Shuffle] > live) {
				t.Errorf("over the reservation:\n%s", s.account)
			}
			if pool := d.pool.Stats().Peak; pool > reserved.Total() {
				t.Errorf("the pool held %s, reserved are %s", mem.Bytes(pool), mem.Bytes(reserved.Total()))
			}
			if most < reserved.Total()/c.least {
				t.Errorf("far under the reservation:\n%s", s.account)
			}
			if units := s.Stats().Units; c.keep == 3 && units > 36 {
				t.Errorf("%d units were decoded, of 36 that stay", units)
			}
		})
	}
}

// A memory that is too small is refused with a shuffle buffer that fits, and then does.
func TestMixtureOfTooLittleMemory(t *testing.T) {
	o := Options{Sources: pictureSources(), ShuffleBuffer: Size{Rows: 3000}, Resources: Resources{Memory: 40 << 20}}
	d := openMixture(t, pictures(t), o)
	_, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 8})
	var e *MemoryError
	if !errors.As(err, &e) || e.Buffer == 0 {
		t.Fatalf("error %v", err)
	}
	o.ShuffleBuffer.Rows = e.Buffer
	d = openMixture(t, pictures(t), o)
	stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8})
	p, err := d.Plan(1, StreamOptions{BatchSize: 8})
	if err != nil || !p.Fits || len(p.Sources) != 3 || p.Sources[0].Share != 0.5 || p.Groups != 24 {
		t.Errorf("plan %+v, error %v", p, err)
	}
}

// A stream that begins at the end of a source's pass decodes what is left of it, not all of it.
func TestMixtureResumesWhereItStood(t *testing.T) {
	for _, batching := range []shuffle.Batching{shuffle.Stratified, shuffle.PerSource} {
		t.Run(string(batching), func(t *testing.T) {
			o := Options{Sources: pictureSources()[:2], ShuffleBuffer: Size{Rows: 400}, Order: Order{UnitRows: 20}, Mixing: Mixing{Batching: batching}}
			d := openMixture(t, pictures(t), o)
			state, err := d.Start(1, StreamOptions{BatchSize: 8})
			if err != nil {
				t.Fatal(err)
			}
			state.Position = state.Rows - 160
			whole, rest := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8}), stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8, State: &state})
			skim(t, whole)
			skim(t, rest)
			if all, few := whole.Stats().Units, rest.Stats().Units; few*4 > all {
				t.Errorf("%d units are decoded for the last 160 of %d rows, and %d for all", few, state.Rows, all)
			}
		})
	}
}

// sourcesOf are the places of a stream in the sources of a mixture.
func sourcesOf(s *Stream) sourceWalks {
	if w, ok := s.walk.(*stepWalk); ok {
		return w.sources
	}
	return s.walk.(*mixedWalk).sources
}

// skim takes the draws of a stream to its end.
func skim(t *testing.T, s *Stream) {
	t.Helper()
	for {
		d, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Release()
	}
}

// A source that is lost in part is masked as a plain data set is, and the others are whole.
func TestMixtureLosesAPlace(t *testing.T) {
	for _, buffer := range []int64{60, 100_000} { // units are decoded in each pass, or stay
		t.Run(fmt.Sprint(buffer), func(t *testing.T) {
			store := filesFrom(t, [][]int{{40, 40}, {40, 40}}, 0, noImage)
			o := Options{Losses: Losses{OnError: Mask, MaxLost: 1}, ShuffleBuffer: Size{Rows: buffer}, Sources: []Source{
				{Name: "whole", Addresses: []string{"mem://data/part-000.parquet"}, Weight: 1},
				{Name: "broken", Addresses: []string{"mem://data/part-001.parquet"}, Weight: 1},
			}}
			d := openMixture(t, store, o)
			store.Put("data/part-001.parquet", make([]byte, 4000))
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16})
			valid, lost := 0, 0
			for {
				dr, err := s.Next(t.Context())
				if err != nil {
					break
				}
				valid, lost = valid+dr.Valid, lost+dr.Lost
				dr.Release()
			}
			if lost != 80 || valid != 80 {
				t.Errorf("%d rows are valid and %d lost", valid, lost)
			}
			if len(d.Losses()) == 0 || !strings.Contains(d.Losses()[0].URI, "part-001") {
				t.Errorf("losses %v", d.Losses())
			}
		})
	}
}
