//go:build linux

package cache

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// tinyChunks are spans of a few bytes or pages with gaps between them.
func tinyChunks(r *rand.Rand, size int64) (all []shard.Span) {
	chunk, gap := 1+r.Int64N(9000), 1+r.Int64N(100_000)
	for off := r.Int64N(gap); off < size; {
		s := shard.Span{Off: off, N: min(1+r.Int64N(chunk), size-off)}
		all, off = append(all, s), s.End()+1+r.Int64N(gap)
	}
	return all
}

func onDiskTest(t *testing.T, c *Cache) int64 {
	t.Helper()
	_, onDisk, err := walk(c.root, false)
	if err != nil {
		t.Fatal(err)
	}
	return onDisk.all
}

// A Fill takes at most the space that Fitting computed, and little less: of a new file, and of one
// that holds other chunks.
func TestFittingBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 60 {
		size := 1 + r.Int64N(3<<20)
		source, s := &origin{}, originShard(1, "v1", size)
		c := openTest(t, Options{Policy: LRU})
		if i%2 == 1 {
			fillTest(t, c, source, s, tinyChunks(r, size)...)
			settle(t, c)
		}
		wanted := Wanted{s, tinyChunks(r, size)}
		before := onDiskTest(t, c)
		fit, growth, err := c.Fitting(source, wanted, math.MaxInt64)
		if err != nil || spanBytes(fit) != spanBytes(wanted.Spans) {
			t.Fatalf("%d of %d bytes fit, %v", spanBytes(fit), spanBytes(wanted.Spans), err)
		}
		fillTest(t, c, source, s, fit...)
		settle(t, c)
		if grown := onDiskTest(t, c) - before; grown > growth || grown < growth-int64(c.unit) {
			t.Errorf("%d chunks: the file grew by %d bytes, %d were expected", len(wanted.Spans), grown, growth)
		}
	}
}

// What Fitting returns fits, also after a Trim of other chunks, and of the rest not even a page.
func TestFittingFits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 40 {
		const limit, size = 1 << 20, 3 << 20
		source, s, other := &origin{}, originShard(1, "v1", size), originShard(2, "v1", size)
		c := openTest(t, Options{Policy: LRU, Limit: limit, MinFree: 1e-9})
		for _, s := range []shard.Shard{s, other} {
			fit, _, err := c.Fitting(source, Wanted{s, tinyChunks(r, size)}, limit/4)
			if err != nil {
				t.Fatal(err)
			}
			fillTest(t, c, source, s, fit...)
		}
		settle(t, c)
		wanted := Wanted{s, tinyChunks(r, size)}
		_, growth, err := c.Fitting(source, wanted, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		room, err := c.RoomFor(source, []Wanted{wanted})
		if err != nil {
			t.Fatal(err)
		}
		freed, err := c.Trim(room, growth-room.Free)
		if err != nil {
			t.Fatal(err)
		}
		fit, growth, err := c.Fitting(source, wanted, room.Free+freed)
		if err != nil || growth > room.Free+freed {
			t.Fatalf("%d of %d bytes, %v", growth, room.Free+freed, err)
		}
		fillTest(t, c, source, s, fit...) // fails with ErrFull
		settle(t, c)
		if on := usageOf(t, c); on > limit {
			t.Errorf("%d bytes of %d", on, limit)
		}
	}
}
