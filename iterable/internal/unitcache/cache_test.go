package unitcache

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	room = 100
	size = 30 // predicted bytes of a unit
)

var errShard = errors.New("a shard is gone")

// A testCache is a cache whose units are loaded at once, unless they wait.
type testCache struct {
	*Cache
	budget  *mem.Budget
	account *mem.Account
	loads   []int32 // in their order
	bytes   int64   // measured, of each unit
	bad     int32   // a unit that fails; 0 for none
	waits   bool    // loads end with end
	begun   []*Unit
	most    int64 // bytes that the cache has counted when a load began
}

func newTestCache(t *testing.T) *testCache {
	t.Helper()
	s := &testCache{bytes: size, budget: mem.NewBudget(0)}
	need := mem.Amounts{}
	need[mem.Shuffle] = room
	var err error
	if s.account, err = s.budget.Reserve(0, need); err != nil {
		t.Fatal(err)
	}
	s.Cache = New(s.account, room, func(int32) int64 { return size }, s.begin)
	return s
}

// begin is called with the cache's mutex.
func (s *testCache) begin(u *Unit) {
	s.loads, s.most = append(s.loads, u.Number), max(s.most, s.used)
	if s.begun = append(s.begun, u); !s.waits {
		go s.end(u)
	}
}

func (s *testCache) end(u *Unit) {
	if u.Number == s.bad {
		s.Loaded(u, nil, errShard)
		return
	}
	held := ahead.New(ahead.Options{Account: s.account}).Take(&ahead.Load{})
	held.Bytes, held.Blocks = s.bytes, []*rowgroup.Block{nil}
	s.account.Charge(mem.Shuffle, held.Bytes)
	s.Loaded(u, held, nil)
}

// pin pins units for a draw.
func (s *testCache) pin(ctx context.Context, units ...int32) ([]Pin, error) {
	var pins []Pin
	for _, u := range units {
		pins = append(pins, Pin{Unit: u})
	}
	_, err := s.Pin(ctx, pins, &wait.Trail{}, nil)
	return pins, err
}

// draw uses units and leaves them.
func (s *testCache) draw(t *testing.T, units ...int32) {
	t.Helper()
	pins, err := s.pin(t.Context(), units...)
	if err != nil {
		t.Fatal(err)
	}
	s.Unpin(pins)
}

// expectUsed checks the bytes that the account and the cache count.
func (s *testCache) expectUsed(t *testing.T, want int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.account.Used()[mem.Shuffle]; got != want || s.used != want {
		t.Errorf("the account has %d bytes and the cache counts %d, want %d", got, s.used, want)
	}
}

func TestLoads(t *testing.T) {
	for _, c := range []struct {
		name  string
		draws [][]int32
		bytes int64
		loads []int32
		used  int64
	}{
		{"a unit is loaded once", [][]int32{{1, 2}, {2, 1}, {1}}, size, []int32{1, 2}, 2 * size},
		{"the least recently used one makes room", [][]int32{{1}, {2}, {3}, {1}, {4}, {1}, {2}}, size, []int32{1, 2, 3, 4, 2}, 3 * size},
		{"one that is drawn makes none", [][]int32{{1}, {2}, {3}, {1, 4}, {1}}, size, []int32{1, 2, 3, 4}, 3 * size},
		{"measured bytes count", [][]int32{{1}, {2}, {3}, {1}}, 2 * size, []int32{1, 2, 3, 1}, 2 * size},
		{"less than predicted", [][]int32{{1}, {2}, {3}, {4}, {1}}, size / 3, []int32{1, 2, 3, 4}, 4 * size / 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTestCache(t)
			s.bytes = c.bytes
			for _, units := range c.draws {
				s.draw(t, units...)
			}
			if !slices.Equal(s.loads, c.loads) {
				t.Errorf("units %v were loaded, want %v", s.loads, c.loads)
			}
			if c.bytes <= size && s.most > room {
				t.Errorf("the units take %d bytes, with room for %d", s.most, room)
			}
			s.expectUsed(t, c.used)
			s.Close(errShard)
			s.expectUsed(t, 0)
			if left := s.budget.Admitted(); left != 0 {
				t.Errorf("the closed cache leaves %d bytes reserved", left)
			}
		})
	}
}

func TestTooManyUnits(t *testing.T) {
	s := newTestCache(t)
	var over *RoomError
	if _, err := s.pin(t.Context(), 1, 2, 3, 4); !errors.As(err, &over) || over.Need != 4*size || over.Room != room {
		t.Errorf("four units in room for three: %v", err)
	}
	if len(s.loads) > 0 {
		t.Errorf("units %v were loaded", s.loads)
	}
	s.Close(errShard)
}

func TestFailedUnit(t *testing.T) {
	s := newTestCache(t)
	s.bad = 2
	if _, err := s.pin(t.Context(), 1, 2); !errors.Is(err, errShard) {
		t.Errorf("the draw of a unit that fails: %v", err)
	}
	s.expectUsed(t, size)
	s.bad = 0
	s.draw(t, 2)
	if want := []int32{1, 2, 2}; !slices.Equal(s.loads, want) {
		t.Errorf("units %v were loaded, want %v", s.loads, want)
	}
	s.Close(errShard)
}

// TestWaitForRoom has a draw wait until another one leaves its units.
func TestWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestCache(t)
		s.draw(t, 3)
		pins, err := s.pin(t.Context(), 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		wait := func(ctx context.Context) {
			other, err := s.pin(ctx, 3, 4) // unit 3 is there, and cannot make room for unit 4
			if err == nil {
				s.Unpin(other)
			}
			done <- err
		}
		ctx, cancel := context.WithCancel(t.Context())
		go wait(ctx)
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a draw that was cancelled while it waited: %v", err)
		}
		go wait(t.Context())
		synctest.Wait()
		if len(s.loads) != 3 {
			t.Errorf("units %v were loaded without room for them", s.loads)
		}
		s.Unpin(pins)
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.expectUsed(t, 3*size)
		s.Close(errShard)
	})
}

// TestUnpinWhileLoading has draws give up while their unit is loaded. It stays until others need
// room.
func TestUnpinWhileLoading(t *testing.T) {
	s := newTestCache(t)
	s.waits = true
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // the draw may be refused before it starts the load
		if _, err := s.pin(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("the draw was cancelled: %v", err)
		}
	}
	if len(s.begun) != 1 {
		t.Fatalf("the unit was loaded %d times", len(s.begun))
	}
	s.end(s.begun[0])
	s.expectUsed(t, size)
	if got := s.Yield(room, 0); got != room {
		t.Errorf("Yield makes %d bytes free of %d, with one unit that is not in use", got, room)
	}
	s.expectUsed(t, 0)
	s.Close(errShard)
}

func TestYield(t *testing.T) {
	s := newTestCache(t)
	s.draw(t, 1)
	pins, err := s.pin(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	s.draw(t, 3)
	for _, c := range []struct{ n, least, want, room int64 }{
		{10, 0, 10, 90},
		{10, 85, 5, 85},
		{100, 0, 25, 60}, // two units are in use
		{1, 0, 0, 60},
	} {
		if got := s.Yield(c.n, c.least); got != c.want || s.Room() != c.room {
			t.Errorf("Yield(%d, %d) = %d and leaves room for %d, want %d and %d", c.n, c.least, got, s.Room(), c.want, c.room)
		}
	}
	s.expectUsed(t, 2*size)
	s.Unpin(pins)
	s.Close(errShard)
	if s.Yield(1, 0) != 0 {
		t.Error("a closed cache yields bytes that it does not have")
	}
}

// TestClose leaves a draw its units, and refuses the one that waits and later ones.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestCache(t)
		pins, err := s.pin(t.Context(), 1, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := s.pin(t.Context(), 4)
			done <- err
		}()
		synctest.Wait()
		s.Close(errShard)
		if err := <-done; !errors.Is(err, errShard) {
			t.Errorf("a draw that waits for room when the cache is closed: %v", err)
		}
		if _, err := s.pin(t.Context(), 1); !errors.Is(err, errShard) {
			t.Errorf("a draw of a closed cache: %v", err)
		}
		s.expectUsed(t, 3*size)
		s.Unpin(pins)
		s.expectUsed(t, 0)
		if left := s.budget.Admitted(); left != 0 {
			t.Errorf("the closed cache leaves %d bytes reserved", left)
		}
	})
}
