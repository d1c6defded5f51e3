//go:build linux

package cache

import (
	"testing"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

// openFresh opens an empty cache, and a shard of random bytes through it.
func openFresh(t *testing.T, size int) (c *Cache, o shard.Object, meter *shardtest.Faults, s shard.Shard, content []byte) {
	t.Helper()
	content = random(3, size)
	meter, s = one(t, content)
	c = openTest(t, Options{})
	return c, openShard(t, c, meter, s), meter, s, content
}

// TestDiscard: discarded bytes are fetched again, and no others; leases of them fail.
func TestDiscard(t *testing.T) {
	const size = 4 * blockSize
	c, o, meter, _, content := openFresh(t, size)
	expect(t, o, content, 0, size)
	settle(t, c)
	l := lendTest(t, o, 0, size)
	defer l.Release()
	before := meter.ReadBytes()
	shard.Discard(o, []shard.Span{{Off: blockSize + 5, N: 10}, {Off: 3 * blockSize, N: 1}})
	if err := l.Verify(shard.Span{Off: 0, N: blockSize}); err == nil {
		t.Error("a lease from before is good")
	}
	expect(t, o, content, 0, size)
	if n := meter.ReadBytes() - before; n != 2*blockSize {
		t.Errorf("%d bytes are fetched again", n)
	}
}

// TestDiscardOfFills: bytes that are discarded on their way to the disk do not come back.
func TestDiscardOfFills(t *testing.T) {
	const size = 16 * blockSize
	_, o, meter, _, content := openFresh(t, size)
	for n := int64(1); n <= 5; n++ {
		expect(t, o, content, 0, size)
		if came := meter.ReadBytes(); came != n*size {
			t.Fatalf("%d bytes came after %d discards", came, n-1)
		}
		shard.Discard(o, []shard.Span{{Off: 0, N: size}})
	}
}

// TestCutWhileOpen: a shard file that is cut while it is open and idle is replaced at its next use.
func TestCutWhileOpen(t *testing.T) {
	const size = 4 * blockSize
	c, o, meter, s, content := openFresh(t, size)
	for _, left := range []int64{0, 100, headerPage, size / 2, size - 1000} {
		expect(t, o, content, 0, size)
		settle(t, c)
		path, l := fileOf(t, c, meter, s)
		truncate(t, path, min(left, l.file()-1))
		if _, ok, _ := shard.Lend(o, 0, 10); ok {
			t.Errorf("cut to %d bytes, it is lent", left)
		}
		expect(t, o, content, 0, size)
		settle(t, c)
		expectLease(t, o, content, 0, size)
	}
}

// TestCutWhileLent: a shard file that is cut is replaced at its next use, although leases keep the
// old one open.
func TestCutWhileLent(t *testing.T) {
	const size = 4 * blockSize
	c, o, meter, s, content := openFresh(t, size)
	for _, left := range []int64{0, headerPage, size / 2} {
		expect(t, o, content, 0, size)
		settle(t, c)
		l := lendTest(t, o, 0, size)
		defer l.Release()
		path, _ := fileOf(t, c, meter, s)
		truncate(t, path, left)
		if _, ok, _ := shard.Lend(o, 0, 10); ok {
			t.Errorf("cut to %d bytes, it is lent", left)
		}
		expect(t, o, content, 0, size)
		settle(t, c)
		expectLease(t, o, content, 0, size)
	}
}
