//go:build linux

package cache

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// trimTest makes room for spans of shards, as a process does that fills them.
func trimTest(t testing.TB, c *Cache, source shard.Store, n int64, wanted ...Wanted) (freed int64) {
	t.Helper()
	room, err := c.RoomFor(source, wanted)
	if err == nil {
		freed, err = c.Trim(room, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return freed
}

func fillTest(t testing.TB, c *Cache, source shard.Store, s shard.Shard, spans ...shard.Span) {
	t.Helper()
	if _, err := c.Fill(t.Context(), source, s, spans, nil); err != nil {
		t.Fatal(err)
	}
}

func heldTest(t testing.TB, c *Cache, source shard.Store, s shard.Shard, spans ...shard.Span) int64 {
	t.Helper()
	held, err := c.Held(source, s, spans)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// TestTrim: a file keeps the bytes that are wanted, and its holes are free to the byte.
func TestTrim(t *testing.T) {
	const size = 20*blockSize + 1234
	for _, wanted := range [][]shard.Span{
		nil,
		{{Off: 0, N: size}},
		{{Off: 3 * blockSize, N: 2 * blockSize}},
		{{Off: 5, N: 10}, {Off: blockSize - 7, N: 14}, {Off: 9*blockSize + 4096, N: 4096}, {Off: size - 1, N: 1}},
		{{Off: 2*blockSize + 100, N: 100}, {Off: 2*blockSize + 20_000, N: 30_000}, {Off: 19 * blockSize, N: 5000}},
		{{Off: 7 * blockSize, N: 1}, {Off: 8*blockSize + 5000, N: 5 * blockSize}},
	} {
		source, s := &origin{}, originShard(1, "v1", size)
		c := openTest(t, Options{Policy: LRU})
		fillTest(t, c, source, s, shard.Span{N: size})
		settle(t, c)
		before := usageOf(t, c)
		freed := trimTest(t, c, source, 1<<40, Wanted{s, wanted})
		_, onDisk, err := walk(c.root, false)
		if after := usageOf(t, c); err != nil || after != onDisk.all || before-after != freed {
			t.Errorf("%v: %d freed of %d, account %d, on the disk %d, %v", wanted, freed, before, after, onDisk.all, err)
		}
		if most := size - spanBytes(wanted) - int64(len(wanted)+1)*2*blockSize; freed < most {
			t.Errorf("%v: %d freed of %d", wanted, freed, size)
		}
		if held := heldTest(t, c, source, s, wanted...); held != spanBytes(wanted) {
			t.Errorf("%v: %d held", wanted, held)
		}
		if len(wanted) < 1 && heldTest(t, c, source, s, shard.Span{N: size}) != 0 {
			t.Error("bytes of holes are held")
		}
		if r, err := Verify(t.Context(), c.options.Dir, nil); err != nil || r.Bad != 0 {
			t.Errorf("%v: %+v, %v", wanted, r, err)
		}
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
			t.Errorf("%v: %v", wanted, err)
		}
		settle(t, c)
		if held := heldTest(t, c, source, s, shard.Span{N: size}); held != size {
			t.Errorf("%v: %d held after a read of all", wanted, held)
		}
	}
}

// TestFillAfterTrim: other columns of the same shards make room for the wanted ones, as far as
// there is too little.
func TestFillAfterTrim(t *testing.T) {
	const size, shards = 4 << 20, 4
	const half = size / 2
	for _, c := range []struct {
		limit, left int64 // bytes of the other halves that stay, at least
	}{{9 << 20, 0}, {14 << 20, 4 << 20}, {20 << 20, shards * half}} {
		source := &origin{}
		use := openTest(t, Options{Policy: LRU, Limit: c.limit})
		var others int64
		var wanted []Wanted
		for i := range shards {
			s := originShard(i, "v1", size)
			fillTest(t, use, source, s, shard.Span{N: half})
			wanted = append(wanted, Wanted{s, []shard.Span{{Off: half, N: half}}})
		}
		settle(t, use)
		room, err := use.RoomFor(source, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := use.Trim(room, shards*(half+headerPage)-room.Free); err != nil {
			t.Fatal(err)
		}
		for _, w := range wanted {
			fillTest(t, use, source, w.Shard, w.Spans...)
		}
		settle(t, use)
		for _, w := range wanted {
			if held := heldTest(t, use, source, w.Shard, w.Spans...); held != half {
				t.Errorf("limit %d: %d of %d held", c.limit, held, half)
			}
			others += heldTest(t, use, source, w.Shard, shard.Span{N: half})
		}
		if on := usageOf(t, use); on > c.limit || others < c.left {
			t.Errorf("limit %d: %d on the disk, %d of other bytes", c.limit, on, others)
		}
	}
}

// TestTrimInUse: a file that another process reads stays as it is.
func TestTrimInUse(t *testing.T) {
	const size = 4 * blockSize
	content := random(3, size)
	meter, s := one(t, content)
	user := openTest(t, Options{Policy: LRU})
	o := openShard(t, user, meter, s)
	expect(t, o, content, 0, size)
	settle(t, user)
	l := lendTest(t, o, 0, size)
	other := openTest(t, Options{Dir: user.options.Dir, Policy: LRU})
	if freed := trimTest(t, other, meter, 1<<40, Wanted{Shard: s}); freed != 0 {
		t.Errorf("%d bytes freed of a file in use", freed)
	}
	if err := l.Verify(shard.Span{N: size}); err != nil || !bytes.Equal(l.Bytes(), content) {
		t.Error(err)
	}
	l.Release()
	user.files.closeIdle(0)
	if freed := trimTest(t, other, meter, 1<<40, Wanted{Shard: s}); freed < size {
		t.Errorf("%d bytes freed of an idle file", freed)
	}
	expect(t, o, content, 0, size)
}

// TestTrimKeeps: bytes are kept as long as the policy says.
func TestTrimKeeps(t *testing.T) {
	const size = 4 * blockSize
	source, s := &origin{}, originShard(1, "v1", size)
	c := openTest(t, Options{KeepFor: 50 * time.Millisecond})
	fillTest(t, c, source, s, shard.Span{N: size})
	c.KeepFor(time.Hour)
	time.Sleep(60 * time.Millisecond)
	room, err := c.RoomFor(source, []Wanted{{Shard: s}})
	if err != nil {
		t.Fatal(err)
	}
	if freed := trimTest(t, c, source, 1<<40, Wanted{Shard: s}); freed != 0 {
		t.Errorf("%d bytes freed within the hour", freed)
	}
	if freed, err := c.Trim(room, 1<<40); freed < size || err != nil {
		t.Errorf("%d bytes freed of a file whose time was over, %v", freed, err)
	}
}

// TestWantedStay: an eviction for a shard leaves the other wanted ones, even if they take more than
// evictions leave as a rule.
func TestWantedStay(t *testing.T) {
	const size = 4 << 20
	source := &origin{}
	c := openTest(t, Options{Policy: LRU, Limit: 4*size + size/10})
	var wanted []Wanted
	for i := range 4 {
		wanted = append(wanted, Wanted{originShard(i, "v1", size), []shard.Span{{N: size}}})
	}
	fillTest(t, c, source, originShard(4, "v1", size/7), shard.Span{N: size / 7})
	trimTest(t, c, source, 0, wanted...)
	for _, w := range wanted {
		fillTest(t, c, source, w.Shard, w.Spans...)
		settle(t, c)
		if err := c.usage.setScanAfter(false, time.Time{}); err != nil { // as if some time went by
			t.Fatal(err)
		}
	}
	for _, w := range wanted {
		if held := heldTest(t, c, source, w.Shard, w.Spans...); held != size {
			t.Errorf("%d of %d held", held, size)
		}
	}
}

// TestTrimKilled: no entry of a process that is killed at any moment claims bytes of a hole.
func TestTrimKilled(t *testing.T) {
	dir, scratch := testDir(t), t.TempDir()
	r := childRun{Dir: dir, Scratch: scratch, Limit: 1 << 30, KeepFor: time.Nanosecond, Shards: 2, Size: 40*blockSize + 77, Trim: true}
	for i := range 12 {
		r.Seed = uint64(i)
		cmd := startChild(t, r)
		time.Sleep(time.Duration(30+rand.IntN(120)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if found, err := Verify(t.Context(), dir, nil); err != nil || found.Bad != 0 {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	c := openTest(t, Options{Dir: dir})
	source := &origin{}
	for i := range r.Shards {
		s := originShard(i, "v1", r.Size)
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, r.Size)}}); err != nil {
			t.Error(err)
		}
	}
}
