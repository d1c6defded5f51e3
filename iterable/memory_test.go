package iterable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

// pictures are 24 row groups of 160 rows with images of 4 to 28 KiB: 60 MiB, written once. The
// store is never changed.
func pictures(t testing.TB) *memstore.Store {
	picturesOnce.Do(func() {
		groups := slices.Repeat([][]int{{160, 160, 160, 160}}, 6)
		picturesStore = files(t, groups, func(id int64) int { return int(4<<10 + id*7919%(24<<10)) })
	})
	return picturesStore
}

var (
	picturesOnce  sync.Once
	picturesStore *memstore.Store
)

// What a stream holds stays within what it reserved, for fast and slow consumers, and the parts of
// blocks are freed as they leave.
func TestPeakWithinTheReservation(t *testing.T) {
	store := pictures(t)
	for _, c := range []struct {
		shuffle  bool
		buffer   int64
		draws    int
		parallel int
		slow     bool
		memory   int64
	}{
		{shuffle: true, buffer: 1000, draws: 2, parallel: 1},
		{shuffle: true, buffer: 1000, draws: 6, parallel: 3, slow: true},
		{shuffle: true, buffer: 2000, draws: 2, parallel: 2, memory: 100 << 20},
		{shuffle: true, buffer: 100, draws: 2, parallel: 2},
		{shuffle: false, draws: 3, parallel: 3, slow: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d := open(t, store, Options{
				Order: Order{Shuffle: c.shuffle}, ShuffleBuffer: Size{Rows: c.buffer}, Resources: Resources{Memory: c.memory},
				Events: Events{OverEstimate: func(m, e int64) { t.Errorf("%d bytes measured, %d foretold", m, e) }},
			})
			s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: c.draws, Parallel: c.parallel, Epochs: 2})
			releaseInAnyOrder(t, d, s, c.draws, func(dr *Draw) {
				if c.slow && dr.Step%16 == 0 {
					time.Sleep(3 * time.Millisecond)
				}
			})
			reserved := s.account.Reserved()
			peak, most := s.account.Peak()
			live := reserved[mem.Decode] + reserved[mem.Shuffle]
			if most > reserved.Total() || peak[mem.Fetch] > reserved[mem.Fetch] || peak[mem.Shuffle] > live {
				t.Errorf("over the reservation:\n%s", s.account)
			}
			if pool := d.pool.Stats().Peak; pool > reserved.Total() {
				t.Errorf("the pool held %s, reserved are %s", mem.Bytes(pool), mem.Bytes(reserved.Total()))
			}
			if c.memory > 0 && reserved.Total() > c.memory {
				t.Errorf("%s reserved of %s", mem.Bytes(reserved.Total()), mem.Bytes(c.memory))
			}
			if most < reserved.Total()/3 {
				t.Errorf("far under the reservation:\n%s", s.account)
			}
		})
	}
}

// A memory that is too small is refused with the numbers, and with a shuffle buffer that then fits.
func TestTooLittleMemory(t *testing.T) {
	store := pictures(t)
	d := open(t, store, Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 4000}, Resources: Resources{Memory: 40 << 20}})
	_, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 8})
	var e *MemoryError
	if !errors.As(err, &e) || e.Buffer == 0 || e.Need.Total() <= 60<<20 {
		t.Fatalf("error %v", err)
	}
	d = open(t, store, Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: e.Buffer}, Resources: Resources{Memory: 40 << 20}})
	stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8})

	d = open(t, store, Options{Order: Order{Shuffle: true}, Resources: Resources{Memory: 1 << 20}})
	if _, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 8}); !errors.As(err, &e) || e.Buffer != 0 {
		t.Errorf("error %v", err)
	}
}

// Streams share a budget; the second is refused while the first is open, and does not wait.
func TestSharedBudget(t *testing.T) {
	store := pictures(t)
	d := open(t, store, Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 1800}, Resources: Resources{Budget: NewBudget(100 << 20)}})
	first := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8})
	_, err := d.Stream(t.Context(), shuffle.Worker{}, StreamOptions{BatchSize: 8})
	var e *mem.OverLimit
	if !errors.As(err, &e) || !e.Shared || !contains(err.Error(), "end one of the others") {
		t.Fatalf("error %v", err)
	}
	if err := d.Close(); err == nil || !contains(err.Error(), "still open") {
		t.Errorf("closing the data set under a stream: %v", err)
	}
	first.Close()
	stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 8})
}

// A resumed stream does not hold what had left before: the parts whose rows are gone are freed as
// their blocks arrive.
func TestResumeHoldsNoMoreThanIsLeft(t *testing.T) {
	d := open(t, pictures(t), Options{Order: Order{Shuffle: true}, ShuffleBuffer: Size{Rows: 2000}})
	s := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 1})
	for range 120 {
		dr, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dr.Release()
	}
	state, want := s.State(), s.account.Used()[mem.Shuffle]
	r := stream(t, d, shuffle.Worker{}, StreamOptions{BatchSize: 16, Draws: 1, State: &state})
	dr, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.account.Used()[mem.Shuffle]; got > want+want/5 {
		t.Errorf("%s in the buffer after the first draw, %s when the state was taken", mem.Bytes(got), mem.Bytes(want))
	}
	dr.Release()
}

// releaseInAnyOrder takes all draws of a stream and calls took with each. So many are out at once,
// and they are released in a random order.
func releaseInAnyOrder(t *testing.T, d *Dataset, s *Stream, draws int, took func(*Draw)) {
	t.Helper()
	var out []*Draw
	r := rand.New(rand.NewPCG(4, 4))
	for {
		dr, err := s.Next(t.Context())
		if err != nil {
			break
		}
		out = append(out, dr)
		took(dr)
		for len(out) == draws {
			k := r.IntN(len(out))
			ids(t, d.Schema(), out[k])
			out[k].Release()
			out = append(out[:k], out[k+1:]...)
		}
	}
	for _, dr := range out {
		dr.Release()
	}
}
