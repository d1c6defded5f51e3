package cache

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// TestKeepOnce: goroutines of two caches on one directory that keep and lend the same places at the
// same time write each once, and lend nothing wrong meanwhile.
func TestKeepOnce(t *testing.T) {
	const size = 5<<20 + 777
	s := originShard(1, "v1", 1000)
	dir := testDir(t)
	caches := []*Cache{openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30}), openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30, Pending: minPending})}
	var wg sync.WaitGroup
	for g := range 8 {
		d := openDecoded(t, caches[g%2], s, size)
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 3))
			for off := int64(0); off < size; {
				n := min(blockSize*(1+random.Int64N(20)), size-off)
				if err := d.Keep(t.Context(), off, decodedTruth(s, off, n)); err != nil {
					t.Error(err)
				}
				if err := lendDecoded(d, s, off, d.Held(off, size)); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Error(err)
				}
				off += n
			}
		})
	}
	wg.Wait()
	var written int64
	for _, c := range caches {
		settle(t, c)
		if st := c.Stats(); st.Bad > 0 || st.Trouble > 0 {
			t.Errorf("%+v", st)
		}
		written += c.Stats().DecodedFilledBytes
	}
	if written != size {
		t.Errorf("%d bytes were written of %d", written, size)
	}
	for _, c := range caches {
		expectDecoded(t, openDecoded(t, c, s, size), s, 0, size)
	}
}

// TestKeepWaitsForMemory: a Keep waits while too many bytes wait for the disk, as long as its
// context lasts, and leaves nothing claimed behind.
func TestKeepWaitsForMemory(t *testing.T) {
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 30, Pending: minPending})
	d := openDecoded(t, c, s, 8<<20)
	if err := c.pending.Acquire(t.Context(), minPending); err != nil { // the disk is slow
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		keepDecoded(t, d, s, 0, 4<<20)
	}()
	select {
	case <-ended:
		t.Error("it did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	c.pending.Release(minPending)
	<-ended
	settle(t, c)
	expectDecoded(t, d, s, 0, 4<<20)
	if err := c.pending.Acquire(t.Context(), minPending); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := d.Keep(stopped, 4<<20, make([]byte, 4<<20)); err == nil {
		t.Error("a Keep that is given up says nothing")
	}
	if n := c.inFlight(); n != 0 || c.Stats().Dropped != 0 {
		t.Errorf("%d blocks stay claimed, %+v", n, c.Stats())
	}
	c.pending.Release(minPending)
}

// TestLeasesMayStay: leases of so many files may be held for long.
func TestLeasesMayStay(t *testing.T) {
	c := openTest(t, Options{DecodedLimit: 1 << 30})
	c.files.most, c.files.long = 1, 3
	var all []*Decoded
	for i := range 5 {
		s := originShard(i, "v1", 1000)
		all = append(all, openDecoded(t, c, s, 1000))
		keepDecoded(t, all[i], s, 0, 1000)
		settle(t, c)
	}
	var leases []shard.Lease
	for i, d := range all {
		for range 2 { // of one file
			l, err := d.Lend(0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, l)
			if d.MayStay() != (i < 3) {
				t.Errorf("with leases of %d files another may stay: %t", i+1, d.MayStay())
			}
		}
	}
	for _, l := range leases {
		l.Release()
	}
	if !all[0].MayStay() {
		t.Error("no lease may stay after all others ended")
	}
}

// TestBoundFiles: most files are left to others, whatever the limit.
func TestBoundFiles(t *testing.T) {
	for limit, want := range map[int][2]int{0: {minFiles, minFiles}, 128: {32, 32}, 1024: {256, 256}, 4096: {256, 1024}, math.MaxInt32: {256, maxLong}} {
		if most, long := boundFiles(limit); most != want[0] || long != want[1] {
			t.Errorf("of %d files %d stay open and %d are in use for long, want %d", limit, most, long, want)
		}
	}
}

// TestDecodedFilesAreBounded: decoded files count among the open files, and are closed when idle.
func TestDecodedFilesAreBounded(t *testing.T) {
	c := openTest(t, Options{DecodedLimit: 1 << 30})
	c.files.most = 4
	for i := range 10 {
		s := originShard(i, "v1", 1000)
		keepDecoded(t, openDecoded(t, c, s, 1000), s, 0, 1000)
		settle(t, c)
		if err := readOnly(t.Context(), openShard(t, c, &origin{}, s), 0, 1000); err != nil {
			t.Fatal(err)
		}
		settle(t, c)
	}
	if n := len(c.files.open); n != 4 {
		t.Errorf("%d files are open", n)
	}
	c.files.closeIdle(0)
	if n := len(c.files.open); n != 0 {
		t.Errorf("%d files stay open", n)
	}
	s := originShard(3, "v1", 1000)
	d := openDecoded(t, c, s, 1000)
	l, err := d.Lend(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	c.files.closeIdle(0)
	closeTest(t, c)
	if err := shard.Use(l, func() error { return sameBytes(l.Bytes(), decodedTruth(s, 0, 1000)) }); err != nil {
		t.Errorf("a lease of a cache that is closed: %v", err)
	}
	l.Release()
	l.Release()
}
