package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"

	"github.com/shardfeed/shardfeed/loader"
)

const everyReader = ^uint64(0)

func ringOf(t *testing.T, slots int, bytes int64) *ring {
	t.Helper()
	r := newRing()
	t.Cleanup(func() {
		if err := r.leave(everyReader); err != nil {
			t.Error(err)
		}
		if len(r.all) != 0 || r.used != 0 {
			t.Errorf("%d generations and %d slots are left", len(r.all), r.used)
		}
	})
	if err := r.fit(ringNeed{slots: slots, bytes: bytes}); err != nil {
		t.Fatal(err)
	}
	return r
}

func begin(t *testing.T, r *ring, size int) *slot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := r.Begin(ctx, size)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*slot)
}

func alloc(t *testing.T, s *slot, n int) []byte {
	t.Helper()
	b, err := s.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != n || cap(b) != n {
		t.Fatalf("%d bytes of capacity %d, not %d", len(b), cap(b), n)
	}
	return b
}

// give announces a slot with nothing but rows in it, and lets go of it.
func give(t *testing.T, s *slot) wire.Announcement {
	t.Helper()
	a, err := s.write(&loader.Batch{Rows: 1, Valid: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Free()
	return a
}

// release releases a slot as trainers do that read the ring: by the word, and by the frame where it
// is wanted.
func (r *ring) release(a wire.Announcement, readers ...int) {
	if len(readers) == 0 {
		readers = []int{0}
	}
	wanted := false
	for _, reader := range readers {
		wanted = r.releaseQuietly(a, reader) || wanted
	}
	if wanted {
		r.collect()
	}
}

// releaseQuietly is a release without the frame. It reports whether that is wanted.
func (r *ring) releaseQuietly(a wire.Announcement, reader int) bool {
	r.mu.Lock() // a trainer has a mapping of its own
	defer r.mu.Unlock()
	g := r.all[a.Generation]
	g.released(reader, a.Slot).Store(a.Seq)
	return g.wanted(reader).Load() != 0
}

func (r *ring) generation(number uint32) *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[number]
}

// Begin waits only for the trainer, when it has all slots.
func TestRingCredit(t *testing.T) { synctest.Test(t, testRingCredit) }

func testRingCredit(t *testing.T) {
	r := ringOf(t, 3, 4096)
	var held []wire.Announcement
	for range 3 {
		held = append(held, give(t, begin(t, r, 0)))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	began := make(chan error, 1)
	go func() {
		_, err := r.Begin(ctx, 0)
		began <- err
	}()
	waits := func() {
		t.Helper()
		synctest.Wait()
		if len(began) > 0 {
			t.Fatalf("a fourth slot, error %v", <-began)
		}
	}
	waits()
	stop := errors.New("enough")
	cancel(stop)
	if err := <-began; !errors.Is(err, stop) {
		t.Fatalf("Begin ends with %v", err)
	}
	go func() {
		m, err := r.Begin(t.Context(), 0)
		if err == nil {
			m.Free()
		}
		began <- err
	}()
	waits()
	r.release(held[1])
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	again := begin(t, r, 0)
	if again.index != held[1].Slot {
		t.Errorf("slot %d is used, not %d that was freed last", again.index, held[1].Slot)
	}
	again.Free()
}

// A slot that is too small becomes a larger one with the same bytes.
func TestRingGrows(t *testing.T) {
	r := ringOf(t, 2, 4096)
	s := begin(t, r, 0)
	first := alloc(t, s, 3000)
	copy(first, bytes.Repeat([]byte{1}, 3000))
	second := alloc(t, s, 5000)
	copy(second, bytes.Repeat([]byte{2}, 5000))
	if s.at.number != 1 || s.at.size < 2*4096 {
		t.Fatalf("generation %d of %d bytes a slot", s.at.number, s.at.size)
	}
	third := alloc(t, s, 100_000)
	if s.at.number != 2 || len(r.all) != 3 {
		t.Fatalf("generation %d of %d", s.at.number, len(r.all))
	}
	if first[2999] != 1 || second[4999] != 2 {
		t.Fatal("the gathered bytes are gone")
	}
	third[0] = 3
	a := give(t, s)
	if len(r.all) != 1 || a.Generation != 2 {
		t.Fatalf("%d generations are left, the batch is of %d", len(r.all), a.Generation)
	}
	r.release(a)
	if again := begin(t, r, 0); again.at.number != 2 {
		t.Fatalf("the next batch is of generation %d", again.at.number)
	} else {
		again.Free()
	}
	if s := begin(t, r, 1<<20); s.at.size < 1<<20 {
		t.Fatalf("a batch of 1 MiB begins in a slot of %d bytes", s.at.size)
	} else {
		s.Free()
	}
}

// Every slot in use finds its place in a newer generation, and the old one goes with the last that
// the trainer releases.
func TestRingGrowsUnderAll(t *testing.T) {
	r := ringOf(t, 4, 4096)
	held := []wire.Announcement{give(t, begin(t, r, 0)), give(t, begin(t, r, 0))}
	a, b := begin(t, r, 0), begin(t, r, 0)
	alloc(t, a, 50_000)
	alloc(t, b, 40_000)
	if a.at != b.at {
		t.Fatalf("generations %d and %d", a.at.number, b.at.number)
	}
	held = append(held, give(t, a), give(t, b))
	if len(r.all) != 2 {
		t.Fatalf("%d generations", len(r.all))
	}
	for i, x := range held {
		r.release(x)
		if want := 2 - min(i, 1); i < 2 && len(r.all) != want {
			t.Fatalf("%d generations after %d releases", len(r.all), i+1)
		}
	}
	r.collect() // the releases of the newest generation are not wanted
	if r.used != 0 {
		t.Fatalf("%d slots are in use", r.used)
	}
}

// testAccount has reserved bytes for batches, of memory in all.
func testAccount(t *testing.T, reserved, memory int64) *mem.Account {
	t.Helper()
	a, err := mem.NewBudget(0).Reserve(memory, mem.Amounts{mem.Batch: reserved})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Larger slots count in the stream's account as a whole. Where little memory is left a batch gets a
// slot of its own, which counts as many bytes as the batch takes. A batch that does not fit is
// refused.
func TestRingKeepsToTheAccount(t *testing.T) {
	r := ringOf(t, 2, 8192)
	a := testAccount(t, 16384, 64<<20)
	r.Use((*iterable.Account)(a))
	used := func() int64 { return a.Used()[mem.Batch] }
	if used() != 16384 {
		t.Fatalf("%d bytes are counted for the first slots", used())
	}
	s := begin(t, r, 0)
	alloc(t, s, 7000)
	alloc(t, s, 3<<20)
	if n := int64(r.newest.size) * 2; n < 6<<20 || used() != 16384+n {
		t.Fatalf("%d bytes are counted, slots have %d", used(), r.newest.size)
	}
	large := begin(t, r, 0)
	s.turn.Made()
	before := used()
	alloc(t, large, 40<<20)
	if n := used() - before; !large.at.single || n < 40<<20 || n > 41<<20 || int64(large.at.size) < 40<<20 {
		t.Fatalf("%d bytes are counted for a batch of 40 MiB", n)
	}
	var full *mem.FullError
	if _, err := large.Alloc(30 << 20); !errors.As(err, &full) {
		t.Fatalf("error %v", err)
	}
	if _, err := s.Alloc(-1); err == nil {
		t.Fatal("-1 bytes")
	}
	if _, err := s.Alloc(1 << 62); err == nil {
		t.Fatal("all bytes")
	}
	large.Free()
	if used() != before {
		t.Fatalf("%d bytes stay counted", used()-before)
	}
	s.Free()
	if err := r.leave(everyReader); err != nil || used() != 0 {
		t.Fatalf("%d bytes stay counted, error %v", used(), err)
	}
}

// A ring that another stream has widened begins with the slots of its own estimate.
func TestRingIsNarrowForTheNextStream(t *testing.T) {
	r := ringOf(t, 2, 8192)
	r.Use((*iterable.Account)(testAccount(t, 16384, 1<<30)))
	s := begin(t, r, 0)
	alloc(t, s, 3<<20)
	s.Free()
	if err := r.fit(ringNeed{slots: 2, bytes: 8192}); err != nil || r.newest.size != 8192 || len(r.all) != 1 {
		t.Errorf("slots of %d bytes, %d generations, error %v", r.newest.size, len(r.all), err)
	}
}

// fit keeps a ring that is large enough.
func TestRingFits(t *testing.T) {
	r := ringOf(t, 4, 8192)
	for _, c := range []struct {
		need   ringNeed
		number uint32
	}{
		{ringNeed{slots: 4, bytes: 8192}, 0},
		{ringNeed{slots: 2, bytes: 100}, 0},
		{ringNeed{slots: 5, bytes: 100}, 1},
		{ringNeed{slots: 5, bytes: 9000}, 2},
		{ringNeed{slots: 1, bytes: 12288}, 2},
	} {
		t.Run(fmt.Sprintf("%d slots of %d", c.need.slots, c.need.bytes), func(t *testing.T) {
			if err := r.fit(c.need); err != nil || r.newest.number != c.number {
				t.Errorf("%+v: generation %d, error %v", c.need, r.newest.number, err)
			}
		})
	}
	if r.need.slots != 5 || r.newest.size != 12288 {
		t.Errorf("%d slots of %d bytes", r.need.slots, r.newest.size)
	}
	err := r.fit(ringNeed{slots: 8, bytes: 1 << 55})
	if wire.KindOf(err) != wire.KindMemory || !strings.Contains(err.Error(), "batch_size") {
		t.Errorf("a ring of 2^58 bytes: %v", err)
	}
}

// The end of the trainer ends every wait and frees what it had, while what the loader still fills
// stays until it is given back.
func TestRingEnds(t *testing.T) {
	r := newRing()
	if err := r.fit(ringNeed{slots: 3, bytes: 4096}); err != nil {
		t.Fatal(err)
	}
	filling := begin(t, r, 0)
	b := alloc(t, filling, 100)
	give(t, begin(t, r, 0))
	give(t, begin(t, r, 0))
	began := make(chan error)
	go func() {
		_, err := r.Begin(context.Background(), 0)
		began <- err
	}()
	r.stop()
	if err := <-began; !errors.Is(err, errGone) {
		t.Fatalf("Begin ends with %v", err)
	}
	if err := r.leave(everyReader); err != nil {
		t.Fatal(err)
	}
	b[0] = 1 // still mapped
	if _, err := filling.Alloc(1 << 20); !errors.Is(err, errGone) {
		t.Fatalf("a larger slot: %v", err)
	}
	if len(r.all) != 1 {
		t.Fatalf("%d generations", len(r.all))
	}
	filling.Free()
	if len(r.all) != 0 || r.used != 0 {
		t.Fatalf("%d generations and %d slots are left", len(r.all), r.used)
	}
	if err := r.fit(ringNeed{slots: 3, bytes: 4096}); !errors.Is(err, errGone) {
		t.Fatalf("fit: %v", err)
	}
}

// Slots are used as few as will do, so that few pages are touched.
func TestRingTouchesLittle(t *testing.T) {
	r := ringOf(t, 16, 8<<20)
	for range 100 {
		s := begin(t, r, 0)
		alloc(t, s, 100)
		a := give(t, s)
		r.release(a)
	}
	touched := 0
	for _, n := range r.newest.touched {
		touched += n
	}
	if touched != touchStep {
		t.Errorf("%d bytes of pages for batches of 100 bytes, one at a time", touched)
	}
}

// A ring uses its first slots only, until a trainer waits although the loader has had to stop.
func TestSlotsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing()
		defer func() { _ = r.leave(everyReader) }()
		if err := r.fit(ringNeed{slots: 9, first: 3, bytes: 4096}); err != nil {
			t.Fatal(err)
		}
		waits := func(last wire.Announcement) { r.newest.waiting(0).Store(last.Seq) }
		open := func(want int, what string) {
			t.Helper()
			if r.open != want {
				t.Errorf("%s: %d slots are open, want %d", what, r.open, want)
			}
		}
		var held []wire.Announcement
		for range 2 {
			held = append(held, give(t, begin(t, r, 0)))
		}
		making := begin(t, r, 0)
		w := waitOn(t, r)
		waits(held[1])
		r.collect()
		w.waits()
		open(3, "a batch is in the making")
		held = append(held, give(t, making))
		w.waits()
		open(3, "the trainer has a batch to take")
		waits(held[2])
		r.collect()
		w.begins()
		open(6, "the trainer waits and holds all")
		for range 3 {
			held = append(held, give(t, begin(t, r, 0)))
		}
		w = waitOn(t, r)
		for _, a := range held {
			r.release(a)
		}
		w.begins()
		late := begin(t, r, 0)
		waits(held[5])
		give(t, late)
		open(9, "the trainer waited after the loader had stopped")
	})
}
