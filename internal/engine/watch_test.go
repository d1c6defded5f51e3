package engine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// sharedRingOf is a ring that so many trainers read.
func sharedRingOf(t *testing.T, readers, slots int) *ring {
	t.Helper()
	r := newSharedRing(readers, 0)
	t.Cleanup(func() {
		if err := r.leave(everyReader); err != nil {
			t.Error(err)
		}
	})
	if err := r.fit(ringNeed{slots: slots, bytes: 4096}); err != nil {
		t.Fatal(err)
	}
	return r
}

// giveTo announces a slot to the first readers.
func giveTo(t *testing.T, r *ring, readers int) wire.Announcement {
	t.Helper()
	s := begin(t, r, 0)
	s.to = 1<<readers - 1
	return give(t, s)
}

// A waiter is a Begin that waits.
type waiter struct {
	t      *testing.T
	began  chan error
	cancel context.CancelFunc
}

func waitOn(t *testing.T, r *ring) *waiter {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &waiter{t, make(chan error, 1), cancel}
	go func() {
		m, err := r.Begin(ctx, 0)
		if err == nil {
			m.Free()
		}
		w.began <- err
	}()
	w.waits()
	return w
}

func (w *waiter) waits() {
	w.t.Helper()
	if synctest.Wait(); len(w.began) > 0 {
		w.t.Fatalf("a slot is free, error %v", <-w.began)
	}
}

func (w *waiter) begins() {
	w.t.Helper()
	if synctest.Wait(); len(w.began) == 0 {
		w.t.Fatal("no slot is free")
	}
	if err := <-w.began; err != nil {
		w.t.Fatal(err)
	}
}

// wanted are the readers whose releases the ring wants to hear of.
func (r *ring) wanted() (all []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for reader := range r.breach {
		if r.newest.wanted(reader).Load() != 0 {
			all = append(all, reader)
		}
	}
	return all
}

// Begin finds a release that came while no one waited, without a frame.
func TestReleaseWithoutAFrame(t *testing.T) {
	r := sharedRingOf(t, 2, 3)
	for range 10 {
		var held []wire.Announcement
		for range 3 {
			held = append(held, giveTo(t, r, 2))
		}
		for _, a := range held {
			for reader := range 2 {
				if r.releaseQuietly(a, reader) {
					t.Fatal("the release is wanted, and no one waits")
				}
			}
		}
	}
}

// While Begin waits it hears of the releases of one reader for each slot, the slowest, and asks
// another when that was not the last.
func TestReleaseWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sharedRingOf(t, 3, 3)
		var held []wire.Announcement
		for range 3 {
			held = append(held, giveTo(t, r, 3))
		}
		r.releaseQuietly(held[0], 0)
		r.releaseQuietly(held[0], 1)
		r.releaseQuietly(held[1], 0)
		w := waitOn(t, r)
		for _, c := range []struct {
			name    string
			slot    int
			reader  int
			wanted  bool
			begins  bool
			waiting []int
		}{
			{"a fast one is not asked", 1, 1, false, false, []int{2}},
			{"nor another", 2, 0, false, false, []int{2}},
			{"the slowest is, and another has that slot too", 2, 2, true, false, []int{1, 2}},
			{"the last one frees it", 0, 2, true, true, nil},
		} {
			wanted := r.releaseQuietly(held[c.slot], c.reader)
			if wanted != c.wanted {
				t.Fatalf("%s: wanted is %t", c.name, wanted)
			}
			if wanted {
				r.collect()
			}
			if c.begins {
				w.begins()
			} else {
				w.waits()
			}
			if got := r.wanted(); fmt.Sprint(got) != fmt.Sprint(c.waiting) {
				t.Errorf("%s: the ring wants to hear of %v, not of %v", c.name, got, c.waiting)
			}
		}
	})
}

// Of the readers who have a slot, the one with the most slots is asked.
func TestReleaseWantedOfTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for fast := range 2 {
			r := sharedRingOf(t, 2, 2)
			giveTo(t, r, 2)
			r.releaseQuietly(giveTo(t, r, 2), fast)
			w := waitOn(t, r)
			if got := r.wanted(); fmt.Sprint(got) != fmt.Sprint([]int{1 - fast}) {
				t.Errorf("reader %d is fast, and the ring wants to hear of %v", fast, got)
			}
			w.cancel()
			<-w.began
		}
	})
}

// Each slot has a reader who is asked, also where no reader has all of them: any of them may be the
// next one that is free.
func TestReleaseWantedOfEachSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for first := range 2 {
			r := sharedRingOf(t, 2, 2)
			held := []wire.Announcement{giveTo(t, r, 2), giveTo(t, r, 2)}
			r.releaseQuietly(held[0], 0) // 1 has it still
			r.releaseQuietly(held[1], 1) // and 0 this one
			w := waitOn(t, r)
			if !r.releaseQuietly(held[first], 1-first) {
				t.Fatalf("the ring does not want to hear of slot %d", first)
			}
			r.collect()
			w.begins()
		}
	})
}

// A batch that is announced while Begin waits is one whose release is wanted.
func TestReleaseWantedOfALaterBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sharedRingOf(t, 1, 2)
		first, second := begin(t, r, 0), begin(t, r, 0)
		w := waitOn(t, r)
		give(t, first)
		a := give(t, second)
		if !r.releaseQuietly(a, 0) {
			t.Fatal("the release is not wanted")
		}
		r.collect()
		w.begins()
	})
}

// The reader who was asked leaves: another one is.
func TestReleaseWantedOfOneThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sharedRingOf(t, 2, 2)
		held := []wire.Announcement{giveTo(t, r, 2), giveTo(t, r, 2)}
		r.releaseQuietly(held[1], 1)
		w := waitOn(t, r)
		if got := r.wanted(); fmt.Sprint(got) != "[0]" {
			t.Fatalf("the ring wants to hear of %v", got)
		}
		if err := r.leave(1 << 0); err != nil { // with it slot 1 is free
			t.Fatal(err)
		}
		w.begins()
		giveTo(t, r, 2)
		w = waitOn(t, r)
		if !r.releaseQuietly(held[0], 1) {
			t.Fatal("the ring does not want to hear of the other one")
		}
		r.collect()
		w.begins()
	})
}

// A release whose frame is lost is found a moment later, and a ring that waits for longer looks no
// more.
func TestReleaseOfALostFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sharedRingOf(t, 1, 2)
		held := []wire.Announcement{giveTo(t, r, 1), giveTo(t, r, 1)}
		w := waitOn(t, r)
		r.releaseQuietly(held[0], 0)
		w.waits()
		time.Sleep(2 * lostTime)
		w.begins()
		giveTo(t, r, 1)
		w = waitOn(t, r)
		time.Sleep(time.Hour)
		w.waits()
		if r.mu.Lock(); r.watch.running {
			t.Error("the ring looks again and again")
		}
		r.mu.Unlock()
		w.cancel()
		if err := <-w.began; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if got := r.wanted(); len(got) > 0 {
			t.Errorf("no one waits, and the ring wants to hear of %v", got)
		}
	})
}

// A frame of a generation that is not the newest frees its memory, though no one waits for a slot.
func TestReleaseOfThePast(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("the frame is lost: ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sharedRingOf(t, 2, 2)
				old := giveTo(t, r, 2)
				time.Sleep(time.Hour)
				if err := r.fit(ringNeed{slots: 2, bytes: 8192}); err != nil {
					t.Fatal(err)
				}
				for reader := range 2 {
					if wanted := r.releaseQuietly(old, reader); !wanted {
						t.Errorf("the ring does not want to hear of reader %d", reader)
					}
				}
				if lost {
					time.Sleep(2 * lostTime)
				} else {
					r.collect()
				}
				if synctest.Wait(); r.generation(old.Generation) != nil {
					t.Error("the old generation is still there")
				}
			})
		})
	}
}

// A release of a batch that was not announced ends the connection of its trainer alone, once per
// look, and frees nothing.
func TestReleaseRefused(t *testing.T) {
	for name, c := range map[string]struct {
		wrong   func(seq uint64) uint64
		refused bool
	}{
		"the next batch":   {func(seq uint64) uint64 { return seq + 1 }, true},
		"far ahead":        {func(uint64) uint64 { return 1<<64 - 1 }, true},
		"the batch before": {func(seq uint64) uint64 { return seq - 1 }, false}, // as if it was not released
		"no batch":         {func(uint64) uint64 { return 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := sharedRingOf(t, 2, 2)
			var refused []error
			r.breach[1] = func(err error) { refused = append(refused, err) }
			r.breach[0] = func(err error) { t.Errorf("the other trainer: %v", err) }
			giveTo(t, r, 2)
			a := giveTo(t, r, 2)
			r.generation(a.Generation).released(1, a.Slot).Store(c.wrong(a.Seq))
			r.releaseQuietly(a, 0)
			r.collect()
			if (len(refused) > 0) != c.refused || c.refused && !errors.Is(refused[0], wire.ErrProtocol) {
				t.Errorf("errors %v", refused)
			}
			if r.used != 2 {
				t.Errorf("%d slots are in use, not 2", r.used)
			}
		})
	}
}

// Whatever a trainer writes into its words, slots that another one has are not used again.
func TestReleaseGarbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := sharedRingOf(t, 2, 4)
	kept := map[uint32]wire.Announcement{}
	for range 2000 {
		g := r.newest
		for range 1 + random.IntN(4) {
			word := g.released(1, uint32(random.IntN(g.slots())))
			word.Store(random.Uint64() >> random.IntN(64))
		}
		if len(kept) < 3 || random.IntN(2) == 0 {
			m, err := r.take(0)
			if err != nil {
				t.Fatal(err)
			}
			if m != nil {
				s := m.(*slot)
				if before, there := kept[s.index]; there {
					t.Fatalf("slot %d is used again, and batch %d is kept", s.index, before.Seq)
				}
				s.to = 1<<2 - 1
				kept[s.index] = give(t, s)
			}
		}
		for index, a := range kept {
			if random.IntN(3) == 0 {
				r.release(a, 0)
				delete(kept, index)
			}
			break
		}
	}
	if bits.OnesCount64(r.readers) != 2 {
		t.Error("a reader has gone")
	}
}
