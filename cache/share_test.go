package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// TestHeldNeedsNoServer: a shard that is held is read without as much as opening it.
func TestHeldNeedsNoServer(t *testing.T) {
	const size = 200_000
	source, s := &origin{}, originShard(1, "v1", 200_000)
	c := openTest(t, Options{})
	if n, err := c.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); n != size || err != nil {
		t.Fatal(n, err)
	}
	source.opens.Store(0)
	o := openShard(t, c, source, s)
	if err := readRight(o, s, []shard.Range{{Off: 5, P: make([]byte, size-5)}}); err != nil {
		t.Error(err)
	}
	if source.opens.Load() != 0 || source.fetched.Load() != size {
		t.Errorf("%d opens, %d bytes fetched", source.opens.Load(), source.fetched.Load())
	}
	if st := c.Stats(); st.Hits != 1 || st.HitBytes != size-5 {
		t.Errorf("%v", st)
	}
}

// TestColumnsShare: two jobs that read different columns of a shard share what is there, each byte
// is fetched once, and each job's bytes are right.
func TestColumnsShare(t *testing.T) {
	const size = 1 << 20
	source, s := &origin{}, originShard(1, "v1", size)
	dir := testDir(t)
	columns := func(skip int64) (ranges []shard.Range) {
		for off := int64(0); off+10_000 <= size; off += skip * 10_000 {
			ranges = append(ranges, shard.Range{Off: off, P: make([]byte, 10_000)})
		}
		return ranges
	}
	for _, skip := range []int64{4, 6, 1} {
		t.Run(fmt.Sprintf("one piece of %d", skip), func(t *testing.T) {
			c := openTest(t, Options{Dir: dir})
			o := openShard(t, c, source, s)
			if err := readRight(o, s, columns(skip)); err != nil {
				t.Error(err)
			}
			settle(t, c)
			closeTest(t, c)
		})
	}
	if got := source.fetched.Load(); got != 1_040_000 {
		t.Errorf("%d bytes fetched of 1040000", got)
	}
}

// TestChangedShard: another version is another file, also when it is as long.
func TestChangedShard(t *testing.T) {
	source := &origin{}
	c := openTest(t, Options{})
	for _, version := range []string{"v1", "v2", "v1", "v2"} {
		t.Run(version, func(t *testing.T) {
			s := originShard(1, version, 100_000)
			if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 100_000)}}); err != nil {
				t.Error(err)
			}
			settle(t, c)
		})
	}
	if source.fetched.Load() != 200_000 {
		t.Errorf("%d bytes fetched", source.fetched.Load())
	}
	all, err := List(t.Context(), c.options.Dir)
	if err != nil || len(all) != 2 || !all[0].Superseded && !all[1].Superseded {
		t.Errorf("%+v, %v", all, err)
	}
}

// spellings is a store for which upper and lower case name the same shard.
type spellings struct{ *origin }

func (spellings) Identity(uri string) string { return strings.ToLower(uri) }

func TestSpellingsShare(t *testing.T) {
	c := openTest(t, Options{})
	store := spellings{&origin{}}
	for _, uri := range []string{"remote://B/a", "remote://b/A"} {
		t.Run(uri, func(t *testing.T) {
			o := openShard(t, c, store, shard.Shard{URI: uri, Size: 100, Version: "1"})
			if err := readOnly(t.Context(), o, 0, 100); err != nil {
				t.Fatal(err)
			}
			settle(t, c)
		})
	}
	if store.fetched.Load() != 100 {
		t.Errorf("%d bytes fetched", store.fetched.Load())
	}
}

// TestOneFetch: goroutines that want the same bytes at the same time fetch them once.
func TestOneFetch(t *testing.T) {
	const size = 3<<20 + 5
	s := originShard(1, "v1", size)
	source := &blockedSource{origin: &origin{}, entered: make(chan struct{}), let: make(chan struct{})}
	c := openTest(t, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		o := openShard(t, c, source, s)
		wg.Go(func() {
			if err := readRight(o, s, []shard.Range{{P: make([]byte, size)}}); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			<-source.entered
		}
	}
	for c.Stats().Waited < 7 {
		time.Sleep(time.Millisecond)
	}
	close(source.let)
	wg.Wait()
	if st := c.Stats(); source.fetched.Load() != size || st.Misses != 1 || st.Hits != 7 {
		t.Errorf("%d bytes fetched, %v", source.fetched.Load(), st)
	}
}

// blockedSource is a store whose reads wait until they are let go.
type blockedSource struct {
	*origin
	entered, let chan struct{}
}

type blockedObject struct {
	shard.Object
	s *blockedSource
}

func (b *blockedSource) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	o, err := b.origin.Open(ctx, s)
	return &blockedObject{o, b}, err
}

func (o *blockedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.s.entered <- struct{}{}
	select {
	case <-o.s.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	return o.Object.ReadAt(ctx, p, off)
}

// TestStalledHolder: who holds the lock and does not come on is waited for no longer than it takes
// to lose waitLimit, within a process and between two; and a reader that gives up meanwhile is not
// held back.
func TestStalledHolder(t *testing.T) {
	dir := testDir(t)
	s := originShard(1, "v1", 100_000)
	stalled := &blockedSource{origin: &origin{}, entered: make(chan struct{}), let: make(chan struct{})}
	holder := openTest(t, Options{Dir: dir})
	var wg sync.WaitGroup
	wg.Go(func() {
		o := openShard(t, holder, stalled, s)
		if err := readRight(o, s, []shard.Range{{P: make([]byte, 100_000)}}); err != nil {
			t.Error(err)
		}
	})
	<-stalled.entered
	for _, c := range []*Cache{holder, openTest(t, Options{Dir: dir})} {
		o := openShard(t, c, stalled.origin, s)
		c.options.waitLimit = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := readOnly(ctx, o, 0, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a reader that gives up: %v", err)
		}
		cancel()
		c.options.waitLimit = 50 * time.Millisecond
		before := time.Now()
		if err := readRight(o, s, []shard.Range{{Off: 50, P: make([]byte, 10)}}); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took < 50*time.Millisecond || c.Stats().Bypassed != 1 {
			t.Errorf("it took %v, %v", took, c.Stats())
		}
	}
	close(stalled.let)
	wg.Wait()
	settle(t, holder)
	if stalled.fetched.Load() != 100_020 {
		t.Errorf("%d bytes fetched", stalled.fetched.Load())
	}
}

// TestSourceFails: an error of the source is the reader's, and leaves nothing claimed behind.
func TestSourceFails(t *testing.T) {
	source, s := &origin{}, originShard(1, "v1", 100_000)
	for _, rule := range []shardtest.Rule{
		{Op: shardtest.OpOpen, Count: 1, Err: shard.ErrDenied},
		{Op: shardtest.OpRead, Count: 1, Err: shard.ErrTransient},
		{Op: shardtest.OpRead, Count: 1, Damage: shardtest.Short},
	} {
		c := openTest(t, Options{})
		faults := shardtest.NewFaults(source, rule)
		o := openShard(t, c, faults, s)
		err := readOnly(t.Context(), o, 0, 1000)
		if want := rule.Err; want != nil && !errors.Is(err, want) || err == nil {
			t.Errorf("%v, want %v", err, want)
		}
		var e *shard.Error
		if !errors.As(err, &e) || e.URI != s.URI {
			t.Errorf("%v does not name the shard", err)
		}
		if n := c.inFlight(); n != 0 {
			t.Errorf("%d blocks stay claimed", n)
		}
		if err := readRight(o, s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
			t.Error(err)
		}
	}
}

// panicking is a store whose reads panic.
type panicking struct{ *origin }

func (p panicking) Open(context.Context, shard.Shard) (shard.Object, error) {
	panic("the store is broken")
}

// TestSourcePanics: a panic of the store's passes, and leaves nothing claimed behind.
func TestSourcePanics(t *testing.T) {
	s := originShard(1, "v1", 100_000)
	c := openTest(t, Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = readOnly(t.Context(), openShard(t, c, panicking{&origin{}}, s), 0, 10)
	}()
	if n := c.inFlight(); n != 0 {
		t.Errorf("%d blocks stay claimed", n)
	}
	if err := readRight(openShard(t, c, &origin{}, s), s, []shard.Range{{P: make([]byte, 10)}}); err != nil {
		t.Error(err)
	}
}

// TestPendingFull: when too many bytes wait for the disk, what comes is delivered and dropped.
func TestPendingFull(t *testing.T) {
	const size = 5 << 20
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{Pending: 2 << 20})
	if err := c.pending.Acquire(t.Context(), 2<<20); err != nil { // the disk is slow
		t.Fatal(err)
	}
	o := openShard(t, c, source, s)
	if err := readRight(o, s, []shard.Range{{P: make([]byte, size)}}); err != nil {
		t.Error(err)
	}
	if st := c.Stats(); st.Dropped != size || st.FilledBytes != 0 || c.inFlight() != 0 {
		t.Errorf("%v", st)
	}
	c.pending.Release(2 << 20)
	if n, err := c.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); n != size || err != nil {
		t.Errorf("filled %d, %v", n, err) // a Fill waits for room
	}
}

// TestWaitsForMemory: when memory for fills comes free in time, nothing is dropped; when it does
// not, a read waits once and those after it not at all.
func TestWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, s := &origin{}, originShard(1, "v1", 1<<20)
		c := openTest(t, Options{Pending: 2 << 20})
		o := openShard(t, c, source, s)
		take := func() {
			if err := c.pending.Acquire(t.Context(), 2<<20); err != nil {
				t.Fatal(err)
			}
		}
		take()
		time.AfterFunc(50*time.Millisecond, func() { c.pending.Release(2 << 20) })
		if err := readOnly(t.Context(), o, 0, 1000); err != nil || c.Stats().Dropped != 0 {
			t.Errorf("%v, %v", err, c.Stats())
		}
		settle(t, c)
		take()
		defer c.pending.Release(2 << 20)
		for i, want := range []bool{true, false} { // waited
			start := time.Now()
			if err := readOnly(t.Context(), o, int64(i+1)*100_000, 1000); err != nil {
				t.Error(err)
			}
			if waited := time.Since(start) >= maxMemoryWait; waited != want {
				t.Errorf("read %d took %v", i, time.Since(start))
			}
		}
		if st := c.Stats(); st.Dropped != 2000 {
			t.Errorf("%v", st)
		}
	})
}

// TestPassesOn: what the inner store can do beyond the contract, the wrapped one can.
func TestPassesOn(t *testing.T) {
	inner := &able{}
	store := openTest(t, Options{}).Wrap(inner)
	if shard.RemoteOf(store).Parallel("x") != 7 || shard.RemoteOf(store).Traffic().Reads != 3 || shard.Identity(store, "X") != "same" {
		t.Error("numbers differ")
	}
	if p, err := store.(shard.Remote).Place(t.Context(), shard.Shard{}); err != nil || p.BlockSize != 9 {
		t.Error(p, err)
	}
	if f, err := store.(shard.Remote).Explain(t.Context(), "x"); err != nil || len(f) != 1 {
		t.Error(f, err)
	}
	if err := store.(interface{ Close() error }).Close(); err != nil || !inner.closed {
		t.Error("the inner store stays open")
	}
	plain := openTest(t, Options{}).Wrap(&origin{})
	if _, err := plain.(shard.Remote).Place(t.Context(), shard.Shard{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if f, err := plain.(shard.Remote).Explain(t.Context(), "x"); f != nil || err != nil {
		t.Error(f, err)
	}
}

type able struct {
	origin
	closed bool
}

func (*able) Parallel(string) int    { return 7 }
func (*able) Traffic() shard.Traffic { return shard.Traffic{Reads: 3} }
func (*able) Identity(string) string { return "same" }
func (a *able) Close() error         { a.closed = true; return nil }
func (*able) Place(context.Context, shard.Shard) (shard.Placement, error) {
	return shard.Placement{BlockSize: 9}, nil
}

func (*able) Explain(context.Context, string) ([]shard.Fact, error) {
	return []shard.Fact{{Name: "a", Value: "b"}}, nil
}

// readOnly reads bytes as columns are read, and compares nothing.
func readOnly(ctx context.Context, o shard.Object, off, n int64) error {
	return shard.ReadRanges(ctx, o, []shard.Range{{Off: off, P: make([]byte, n)}})
}

// TestReadAtNeverFills: what is read with ReadAt is served when it is held, and else not kept; not
// even a file is made for it.
func TestReadAtNeverFills(t *testing.T) {
	const size = 200_000
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{})
	o := openShard(t, c, source, s)
	check := func(off, n, fetched int64) {
		t.Helper()
		before := source.fetched.Load()
		p := make([]byte, n)
		if err := o.ReadAt(t.Context(), p, off); err != nil || !isTruth(s, p, off) {
			t.Errorf("%d bytes from byte %d on: %v", n, off, err)
		}
		if got := source.fetched.Load() - before; got != fetched {
			t.Errorf("%d bytes from byte %d on: %d fetched, want %d", n, off, got, fetched)
		}
		settle(t, c)
	}
	check(1000, 500, 500)
	check(1000, 500, 500)
	if all, err := List(t.Context(), c.options.Dir); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if err := readOnly(t.Context(), o, 1000, 70_000); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	check(2000, 1000, 0)
	check(500, 1000, 500)
	check(0, size, size-70_000)
}
