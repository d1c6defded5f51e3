package cache

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestMain(m *testing.M) {
	if run := os.Getenv(childEnv); run != "" {
		child(run)
		return
	}
	leaktest.Main(m)
}

// testDir is a directory that can hold a cache, also where the one for temporary files lies in
// memory.
func testDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := checkFit(dir); err == nil {
		return dir
	} else if !errors.Is(err, ErrUnfit) {
		t.Fatal(err)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		noDisk(t, err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		noDisk(t, err)
	}
	dir, err = os.MkdirTemp(home, "shardfeed-test-")
	if err != nil {
		noDisk(t, err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if _, err := checkFit(dir); err != nil {
		noDisk(t, err)
	}
	return dir
}

// rootOf opens the directory of the format for as long as the test runs.
func rootOf(t testing.TB, path string) *trusted.Dir {
	t.Helper()
	root, err := trusted.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// noDisk skips a test for which there is no local disk; with CI=true that is a failure.
func noDisk(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI=true and there is no disk for a cache:", err)
	}
	t.Skip("there is no disk for a cache:", err)
}

// openTest opens a cache that is closed with the test.
func openTest(t testing.TB, o Options) *Cache {
	t.Helper()
	if o.Dir == "" {
		o.Dir = testDir(t)
	}
	if o.Limit == 0 {
		o.Limit = 1 << 30
	}
	if o.MinFree == 0 {
		o.MinFree = 0.0001
	}
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTest(t, c) })
	return c
}

func closeTest(t testing.TB, c *Cache) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// settle waits until no bytes wait for the disk.
func settle(t testing.TB, c *Cache) {
	t.Helper()
	if err := c.pending.Acquire(t.Context(), c.options.Pending); err != nil {
		t.Fatal(err)
	}
	c.pending.Release(c.options.Pending)
	deadline := time.Now().Add(time.Minute)
	for c.inFlight() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("segments are never given back")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// inFlight counts the blocks that are claimed.
func (c *Cache) inFlight() (n int) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	for _, p := range c.files.open {
		select {
		case <-p.ready:
		default:
			continue
		}
		if p.file != nil {
			p.file.mu.Lock()
			n += len(p.file.segments)
			p.file.mu.Unlock()
		}
	}
	return n
}

// random is n bytes that depend on the seed.
func random(seed byte, n int) []byte {
	b := make([]byte, n)
	x := uint64(seed) + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}

// one puts a shard into memory and returns its metered store.
func one(t testing.TB, content []byte) (*shardtest.Faults, shard.Shard) {
	t.Helper()
	m := &mem.Store{}
	m.Put("a", content)
	meter := shardtest.NewFaults(m)
	return meter, listOne(t, meter, "mem://a")
}

func listOne(t testing.TB, s shard.Store, uri string) shard.Shard {
	t.Helper()
	all, err := s.List(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// openShard opens a shard through the cache.
func openShard(t testing.TB, c *Cache, inner shard.Store, s shard.Shard) shard.Object {
	t.Helper()
	o, err := c.Wrap(inner).Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// heldShard is a shard of which a new cache holds n bytes from off on.
func heldShard(t testing.TB, content []byte, off, n int) (*shardtest.Faults, shard.Shard, *Cache, shard.Object) {
	t.Helper()
	meter, s := one(t, content)
	c := openTest(t, Options{})
	o := openShard(t, c, meter, s)
	expect(t, o, content, off, n)
	settle(t, c)
	return meter, s, c, o
}

// expect reads a range and compares it.
func expect(t testing.TB, o shard.Object, all []byte, off, n int) {
	t.Helper()
	p := make([]byte, n)
	if err := shard.ReadRanges(t.Context(), o, []shard.Range{{Off: int64(off), P: p}}); err != nil {
		t.Errorf("%d bytes from byte %d on: %v", n, off, err)
	} else if !bytes.Equal(p, all[off:off+n]) {
		t.Errorf("%d bytes from byte %d on are wrong", n, off)
	}
}

// lendTest lends bytes that are held.
func lendTest(t testing.TB, o shard.Object, off, n int64) shard.Lease {
	t.Helper()
	l, ok, err := shard.Lend(o, off, n)
	if !ok || err != nil {
		t.Fatalf("%d bytes from byte %d on are not lent: %v", n, off, err)
	}
	return l
}

// expectLease borrows a range, which must be held, and compares it.
func expectLease(t testing.TB, o shard.Object, all []byte, off, n int) {
	t.Helper()
	l, ok, err := shard.Lend(o, int64(off), int64(n))
	if err != nil || !ok {
		t.Fatalf("%d bytes from byte %d on are not lent: %v", n, off, err)
	}
	defer l.Release()
	err = shard.Use(l, func() error {
		if !bytes.Equal(l.Bytes(), all[off:off+n]) {
			t.Errorf("%d bytes lent from byte %d on are wrong", n, off)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func sameBytes(a, b []byte) error {
	if !bytes.Equal(a, b) {
		return errWrong
	}
	return nil
}

// flipByte changes bits of one byte of a file.
func flipByte(t testing.TB, f *os.File, off int64, bits byte) {
	t.Helper()
	b := []byte{0}
	if _, err := f.ReadAt(b, off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= bits
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}
