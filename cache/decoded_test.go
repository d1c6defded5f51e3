package cache

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// decodedTruth is n decoded bytes of a shard, from off on.
func decodedTruth(s shard.Shard, off, n int64) []byte {
	b := make([]byte, n)
	truth(^seedOf(s), b, off)
	return b
}

// openDecoded opens what is decoded of a shard.
func openDecoded(t testing.TB, c *Cache, s shard.Shard, size int64) *Decoded {
	t.Helper()
	d := c.OpenDecoded(&origin{}, s, "form", size)
	if d == nil {
		t.Fatal("nothing decoded is kept")
	}
	return d
}

// keepDecoded keeps what is right.
func keepDecoded(t testing.TB, d *Decoded, s shard.Shard, off, n int64) {
	t.Helper()
	b := decodedTruth(s, off, n)
	if err := d.Keep(t.Context(), off, b); err != nil {
		t.Errorf("%d bytes from byte %d on are not kept: %v", n, off, err)
	}
	clear(b)
}

// heldDecoded opens a cache that holds all bytes of a space.
func heldDecoded(t testing.TB, s shard.Shard, size int64) (*Cache, *Decoded) {
	t.Helper()
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, size)
	keepDecoded(t, d, s, 0, size)
	settle(t, c)
	return c, d
}

// lendDecoded compares what is lent with the truth, if it verifies.
func lendDecoded(d *Decoded, s shard.Shard, off, n int64) error {
	l, err := d.Lend(off, n)
	if err != nil {
		return err
	}
	defer l.Release()
	err = shard.Guard(func() error {
		if !bytes.Equal(l.Bytes(), decodedTruth(s, off, n)) {
			return fmt.Errorf("%w: %d decoded bytes lent from byte %d on", errWrong, n, off)
		}
		return nil
	})
	if bad := l.Verify(shard.Span{Off: off, N: n}); bad != nil {
		return bad
	}
	return err
}

func expectDecoded(t testing.TB, d *Decoded, s shard.Shard, off, n int64) {
	t.Helper()
	if err := lendDecoded(d, s, off, n); err != nil {
		t.Errorf("%d bytes from byte %d on: %v", n, off, err)
	}
}

// TestDecoded: kept bytes are held up to the next hole and lent, in this process and in the next,
// beside the bytes of the shard.
func TestDecoded(t *testing.T) {
	const size = 100 * blockSize
	source, s := &origin{}, originShard(1, "v1", 1000)
	dir := testDir(t)
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30})
	d := openDecoded(t, c, s, size)
	if n := d.Held(0, size); n != 0 {
		t.Errorf("%d bytes are held of nothing", n)
	}
	keepDecoded(t, d, s, 2*blockSize, 3*blockSize)
	keepDecoded(t, d, s, 5*blockSize, 20*blockSize+10)
	keepDecoded(t, d, s, 99*blockSize, blockSize)
	settle(t, c)
	if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
		t.Error(err)
	}
	checkHoles(t, d, s)
	settle(t, c)
	if st := c.Stats(); st.DecodedFilledBytes != 24*blockSize+10 || st.FilledBytes != 1000 || st.Dropped != 0 || st.Hits != 0 {
		t.Errorf("%+v", st)
	}
	closeTest(t, c)
	next := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30})
	checkHoles(t, openDecoded(t, next, s, size), s)
	if st := next.Stats(); st.DecodedHitBytes != 24*blockSize+10+100 || st.HitBytes != 0 {
		t.Errorf("%+v", st)
	}
}

// checkHoles looks at a space of 100 blocks that holds blocks 2 to 24, ten bytes of the next, and
// the last.
func checkHoles(t *testing.T, d *Decoded, s shard.Shard) {
	t.Helper()
	const size = 100 * blockSize
	for _, h := range []struct{ off, most, want int64 }{
		{0, size, 0},
		{2 * blockSize, size, 23*blockSize + 10},
		{2 * blockSize, 100, 100},
		{24 * blockSize, blockSize, blockSize},
		{25 * blockSize, size, 10},
		{26 * blockSize, size, 0},
		{99 * blockSize, size, blockSize},
		{size, 10, 0},
		{-blockSize, 10, 0},
	} {
		if got := d.Held(h.off, h.most); got != h.want {
			t.Errorf("%d bytes are held from byte %d on, up to %d; want %d", got, h.off, h.most, h.want)
		}
	}
	expectDecoded(t, d, s, 2*blockSize, 23*blockSize+10)
	expectDecoded(t, d, s, 3*blockSize+5, 100)
	expectDecoded(t, d, s, 99*blockSize, blockSize)
	for _, off := range []int64{0, blockSize, 25*blockSize + 1, size, -1} {
		if _, err := d.Lend(off, 10); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("byte %d: %v", off, err)
		}
	}
}

// TestNothingDecoded: there is no space of a shard that cannot be cached, and none without a limit.
func TestNothingDecoded(t *testing.T) {
	s := originShard(1, "v1", 1000)
	dir := testDir(t)
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 20})
	keepDecoded(t, openDecoded(t, c, s, 1000), s, 0, 1000)
	settle(t, c)
	for name, x := range map[string]struct {
		s    shard.Shard
		size int64
	}{"no version": {originShard(1, "", 1000), 1000}, "no bytes": {s, 0}, "too many": {s, maxSize + 1}} {
		t.Run(name, func(t *testing.T) {
			if c.OpenDecoded(&origin{}, x.s, "form", x.size) != nil {
				t.Error("it is kept")
			}
		})
	}
	if openTest(t, Options{Dir: dir}).OpenDecoded(&origin{}, s, "form", 1000) != nil {
		t.Error("a cache without a limit for it lends what is there")
	}
}

// TestKeepRefuses: what is not kept, and why.
func TestKeepRefuses(t *testing.T) {
	const size = 2<<20 + 5
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, size)
	keep := func(d *Decoded, off, n int64) error { return d.Keep(t.Context(), off, make([]byte, n)) }
	if err := keep(d, 10, 10); err == nil {
		t.Error("it does not begin with a block")
	}
	if err := keep(d, 32*blockSize, 6); err == nil {
		t.Error("it is out of the space")
	}
	if d.MayKeep(1<<20+1) || !d.MayKeep(1<<19) {
		t.Error("MayKeep differs from the limit")
	}
	if err := keep(d, 0, size); !errors.Is(err, ErrFull) {
		t.Errorf("more than the limit: %v", err)
	}
	if err := keep(d, 0, 0); err != nil {
		t.Errorf("nothing: %v", err)
	}
	c.disk.noFills.Store(1 << 62)
	if err := keep(d, 0, 10); !errors.Is(err, errOff) || d.MayKeep(10) {
		t.Errorf("a disk that fails: %v", err)
	}
	c.disk.noFills.Store(0)
	closeTest(t, c)
	if err := keep(d, 0, 10); !errors.Is(err, ErrClosed) {
		t.Errorf("the cache is closed: %v", err)
	}
	if _, err := d.Lend(0, 10); !errors.Is(err, errors.ErrUnsupported) || d.Held(0, 10) != 0 {
		t.Errorf("the cache is closed: %v", err)
	}
}

// TestKeepGrows: more of a block joins what is held of it, which stays as it is.
func TestKeepGrows(t *testing.T) {
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, 3*blockSize)
	for _, n := range []int64{100, 50, 5000, blockSize + 7, 2 * blockSize} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			keepDecoded(t, d, s, blockSize, n)
			settle(t, c)
			expectDecoded(t, d, s, blockSize, n)
		})
	}
	if st := c.Stats(); st.DecodedFilledBytes != 2*blockSize || d.Held(blockSize, 1<<20) != 2*blockSize {
		t.Errorf("%+v", st)
	}
}

// TestOtherSize: a space of another size is not taken for the one that is there, and replaces it
// once nothing uses it.
func TestOtherSize(t *testing.T) {
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	old, next := openDecoded(t, c, s, 4*blockSize), openDecoded(t, c, s, 9*blockSize)
	keepDecoded(t, old, s, 3*blockSize, blockSize)
	settle(t, c)
	if err := next.Keep(t.Context(), 8*blockSize, make([]byte, 10)); err == nil {
		t.Error("it is kept in the space of another size")
	}
	if n := next.Held(3*blockSize, 10); n != 0 {
		t.Errorf("%d bytes of the other space", n)
	}
	if _, err := next.Lend(3*blockSize, 10); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a lease of the other space: %v", err)
	}
	expectDecoded(t, old, s, 3*blockSize, blockSize)
	c.files.closeIdle(0)
	keepDecoded(t, next, s, 8*blockSize, blockSize)
	settle(t, c)
	expectDecoded(t, next, s, 8*blockSize, blockSize)
	if n := next.Held(3*blockSize, 10); n != 0 {
		t.Errorf("%d bytes of the space that was replaced", n)
	}
	c.files.closeIdle(0)
	if n := old.Held(3*blockSize, 10); n != 0 {
		t.Errorf("%d bytes of the new space", n)
	}
}
