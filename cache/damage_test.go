//go:build linux

package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// fileOf is where a shard's bytes are cached.
func fileOf(t testing.TB, c *Cache, inner shard.Store, s shard.Shard) (path string, l fileLayout) {
	t.Helper()
	k, ok := keyOf(inner, s)
	if !ok {
		t.Fatal("the shard has no key")
	}
	return fileOfKey(c, k)
}

func fileOfKey(c *Cache, k key) (path string, l fileLayout) {
	return filepath.Join(c.root.Path(), k.name), fileLayoutOf(k)
}

// rot changes one byte of a cached shard.
func rot(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flipByte(t, f, off, 0x10)
}

// TestRotUnderLease: a lease tells when a byte of it has changed since it was lent, and that byte
// is not lent again.
func TestRotUnderLease(t *testing.T) {
	const size = 3*blockSize + 100
	content := random(2, size)
	meter, s, c, o := heldShard(t, content, 0, size)
	path, l := fileOf(t, c, meter, s)
	all := shard.Span{Off: 10, N: size - 10}
	l1 := lendTest(t, o, 10, size-10)
	if err := l1.Verify(all); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}
	rot(t, path, l.data+blockSize)
	if err := l1.Verify(all); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("it has changed: %v", err)
	}
	l1.Release()
	if _, ok, _ := shard.Lend(o, 10, size-10); ok {
		t.Error("it is lent again")
	}
	// Another has found the damage and fetched the bytes again before they are checked.
	expect(t, o, content, 0, size)
	settle(t, c)
	l2 := lendTest(t, o, 10, size-10)
	rot(t, path, l.data+blockSize)
	expect(t, o, content, 0, size)
	settle(t, c)
	if err := l2.Verify(all); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("it was damaged in between: %v", err)
	}
	l2.Release()
	if err := l2.Verify(all); err == nil {
		t.Error("nothing is lent")
	}
	expect(t, o, content, 0, size)
}

// TestRot: a byte that rots on the disk costs its block one more fetch, and is never served.
func TestRot(t *testing.T) {
	const size = 5*blockSize + 100
	content := random(1, size)
	for _, view := range []bool{false, true} {
		t.Run(fmt.Sprint("view ", view), func(t *testing.T) {
			for _, at := range []int64{0, blockSize + 5, 2*blockSize - 1, size - 1} {
				meter, s := one(t, content)
				c := openTest(t, Options{})
				o := openShard(t, c, meter, s)
				expect(t, o, content, 0, size)
				settle(t, c)
				path, l := fileOf(t, c, meter, s)
				rot(t, path, l.data+at)
				before := meter.ReadBytes()
				if view {
					l := lendTest(t, o, 0, size)
					if err := l.Verify(shard.Span{N: size}); !errors.Is(err, shard.ErrCorrupt) {
						t.Errorf("rotten bytes are lent and not found out: %v", err)
					}
					l.Release()
				}
				expect(t, o, content, 0, size)
				settle(t, c)
				n := meter.ReadBytes() - before
				if want := int64(blockLen(size, at/blockSize)); n != want || c.Stats().Bad != 1 {
					t.Errorf("byte %d rotten: %d bytes fetched again, want %d; %v", at, n, want, c.Stats())
				}
				expectLease(t, o, content, 0, size)
				if meter.ReadBytes()-before != n {
					t.Error("it was fetched again and again")
				}
			}
		})
	}
}

// TestRotUnderGrowth: a run that has rotted is found out though it grew since.
func TestRotUnderGrowth(t *testing.T) {
	content := random(1, blockSize)
	meter, s, c, o := heldShard(t, content, 1000, 1000)
	path, l := fileOf(t, c, meter, s)
	rot(t, path, l.data+1500)
	expect(t, o, content, 2000, 1000)
	settle(t, c)
	expect(t, o, content, 500, 100)
	settle(t, c)
	expect(t, o, content, 500, 2500)
	if c.Stats().Bad != 1 {
		t.Errorf("%v", c.Stats())
	}
}

// TestRotWhileFilling: a run that turns out damaged while more is fetched to it does not come back
// as part of the run that it would have grown to.
func TestRotWhileFilling(t *testing.T) {
	content := random(1, blockSize)
	meter, s := one(t, content)
	c := openTest(t, Options{})
	o := openShard(t, c, meter, s).(*object)
	expect(t, o, content, 1000, 1000)
	settle(t, c)
	p, err := c.files.acquire(t.Context(), o.key, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.files.release(p)
	missing := []shard.Range{{Off: 2000, P: make([]byte, 500)}}
	got, err := c.claimAll(p, spansOf(missing))
	if err != nil || len(got.mine) != 1 {
		t.Fatal(got, err)
	}
	ranges, err := c.fetch(t.Context(), o, got.mine, missing)
	if err != nil {
		t.Fatal(err)
	}
	if !p.file.swap(0, p.file.entry(0), 0) { // a reader finds the rot
		t.Fatal("the entry changed by itself")
	}
	if err := c.fillInTime(t.Context(), got.mine[0], ranges); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	if e := p.file.entry(0); e != 0 {
		t.Errorf("the block holds %v", p.file.run(0, e))
	}
}

// TestRotForever: a disk that gives wrong bytes each time is not asked for ever.
func TestRotForever(t *testing.T) {
	content := random(1, blockSize)
	meter, s, c, o := heldShard(t, content, 0, 100)
	p, err := c.files.acquire(t.Context(), o.(*object).key, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.files.release(p)
	r := &reading{cache: c, object: o.(*object), handle: p, rest: []shard.Range{{P: make([]byte, 100)}}, bad: maxBad - 1}
	path, l := fileOf(t, c, meter, s)
	rot(t, path, l.data+50)
	if err := r.run(t.Context()); err != nil || c.Stats().Bypassed != 1 {
		t.Errorf("%v, %v", err, c.Stats())
	}
}

// TestNoVerify is the control: it does serve what rotted.
func TestNoVerify(t *testing.T) {
	content := random(1, 1000)
	meter, s := one(t, content)
	c := openTest(t, Options{noVerify: true})
	o := openShard(t, c, meter, s)
	expect(t, o, content, 0, 1000)
	settle(t, c)
	path, l := fileOf(t, c, meter, s)
	rot(t, path, l.data+500)
	p := make([]byte, 1000)
	if err := o.ReadAt(t.Context(), p, 0); err != nil || bytes.Equal(p, content) {
		t.Errorf("the byte that rotted is not served: %v", err)
	}
}

// fileDamages are what other programs may do to a file of the cache.
var fileDamages = []struct {
	name   string
	damage func(t *testing.T, path string, l fileLayout)
}{
	{"cut in the data", func(t *testing.T, path string, l fileLayout) { truncate(t, path, l.data+1000) }},
	{"cut in the table", func(t *testing.T, path string, l fileLayout) { truncate(t, path, l.header+1) }},
	{"empty", func(t *testing.T, path string, _ fileLayout) { truncate(t, path, 0) }},
	{"longer", func(t *testing.T, path string, l fileLayout) { truncate(t, path, l.file()+1) }},
	{"torn header", func(t *testing.T, path string, _ fileLayout) { overwrite(t, path, 70, []byte("other")) }},
	{"another magic", func(t *testing.T, path string, _ fileLayout) { overwrite(t, path, 0, []byte("PAR1")) }},
	{"garbage in the table", func(t *testing.T, path string, l fileLayout) { overwrite(t, path, l.header, random(9, int(l.table))) }},
	{"alien", func(t *testing.T, path string, _ fileLayout) { replace(t, path, random(2, 500)) }},
	{"gone", func(t *testing.T, path string, _ fileLayout) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}},
}

// TestDamagedFile: whatever has happened to a shard file, open or not, it costs a fetch and never a
// wrong byte, an error or a crash.
func TestDamagedFile(t *testing.T) {
	const size = 300_000
	content := random(1, size)
	for _, c := range fileDamages {
		for _, open := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				meter, s := one(t, content)
				cache := openTest(t, Options{})
				o := openShard(t, cache, meter, s)
				expect(t, o, content, 0, size)
				settle(t, cache)
				if !open {
					cache.files.closeIdle(0)
				}
				path, l := fileOf(t, cache, meter, s)
				c.damage(t, path, l)
				if l, ok, err := shard.Lend(o, 1, size-1); err != nil {
					t.Errorf("a lease: %v", err)
				} else if ok { // of bytes that the damage did not reach
					err := shard.Guard(func() error { return sameBytes(l.Bytes(), content[1:]) })
					if l.Verify(shard.Span{Off: 1, N: size - 1}) == nil && err != nil {
						t.Error(err)
					}
					l.Release()
				}
				for range 2 {
					expect(t, o, content, 0, size)
					settle(t, cache)
				}
				cache.files.closeIdle(0)
				expect(t, o, content, 10, size-10)
				settle(t, cache)
				before := meter.ReadBytes()
				expect(t, o, content, 0, size)
				if !open && meter.ReadBytes() != before {
					t.Error("the cache did not recover")
				}
				if cache.Stats().Trouble != 0 {
					t.Errorf("%v", cache.Stats())
				}
			})
		}
	}
}

// TestForeignFile: a whole and right file of another version under a shard's name is not taken for
// the shard's.
func TestForeignFile(t *testing.T) {
	const size = 100_000
	source := &origin{}
	c := openTest(t, Options{})
	var paths []string
	for _, version := range []string{"v1", "v2"} {
		s := originShard(1, version, size)
		if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); err != nil {
			t.Fatal(err)
		}
		path, _ := fileOf(t, c, source, s)
		paths = append(paths, path)
	}
	c.files.closeIdle(0)
	if err := os.Rename(paths[1], paths[0]); err != nil {
		t.Fatal(err)
	}
	s := originShard(1, "v1", size)
	o := openShard(t, c, source, s)
	if err := lendAnything(o, s, size); err != nil {
		t.Error(err)
	}
	if err := readRight(o, s, []shard.Range{{P: make([]byte, size)}}); err != nil {
		t.Error(err)
	}
}

// lendAnything compares what is lent, if it is.
func lendAnything(o shard.Object, s shard.Shard, n int64) error {
	l, ok, err := shard.Lend(o, 0, n)
	if err != nil || !ok {
		return err
	}
	defer l.Release()
	err = shard.Guard(func() error { return right(s, l.Bytes(), 0) })
	if l.Verify(shard.Span{N: n}) != nil {
		return nil // it is not believed
	}
	return err
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, off int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLeaseOfCutFile: a file that is cut under a lease is an error where its bytes are touched.
func TestLeaseOfCutFile(t *testing.T) {
	const size = 300_000
	content := random(1, size)
	meter, s, c, o := heldShard(t, content, 0, size)
	l := lendTest(t, o, 0, size)
	defer l.Release()
	path, _ := fileOf(t, c, meter, s)
	truncate(t, path, 0)
	if err := shard.Use(l, func() error { _ = bytes.Equal(l.Bytes(), content); return nil }); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("touching it: %v", err)
	}
	expect(t, o, content, 0, size)
}

// TestUsageCut: an account that is cut turns the cache off, no more.
func TestUsageCut(t *testing.T) {
	content := random(1, 1000)
	meter, s := one(t, content)
	c := openTest(t, Options{})
	truncate(t, filepath.Join(c.root.Path(), usageName), 0)
	o := openShard(t, c, meter, s)
	expect(t, o, content, 0, 1000)
	expect(t, o, content, 0, 1000)
	if c.Stats().Trouble != 1 {
		t.Errorf("%v", c.Stats())
	}
}
