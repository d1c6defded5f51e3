package cache

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// heldOf names the shards of which a cache holds something: "1" is the shard, "1d" decoded bytes.
func heldOf(t *testing.T, c *Cache) (names []string) {
	t.Helper()
	all, err := List(t.Context(), c.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		name := strings.TrimSuffix(strings.TrimPrefix(e.URI, "remote://bucket/part-"), ".parquet")
		if e.Version != "v1" {
			name += e.Version
		}
		if e.Decoded {
			name += "d"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func expectHeld(t *testing.T, c *Cache, want string) {
	t.Helper()
	settle(t, c)
	c.files.closeIdle(0)
	if got := strings.Join(heldOf(t, c), " "); got != want {
		t.Errorf("it holds %q, want %q", got, want)
	}
	a, err := c.usage.amount()
	space, err2 := Usage(c.options.Dir)
	if err != nil || err2 != nil || a.all < space.Bytes || a.decoded < space.DecodedBytes || a.all > c.options.Limit || a.decoded > c.options.DecodedLimit {
		t.Errorf("%+v are counted of %+v, %v, %v", a, space, err, err2)
	}
}

// fillMega fills a shard of a megabyte, and keepMega keeps as many decoded bytes of it.
func fillMega(t *testing.T, c *Cache, i int, version string) error {
	t.Helper()
	s := originShard(i, version, mega)
	_, err := c.Fill(t.Context(), &origin{}, s, []shard.Span{{N: mega}}, nil)
	if c.usage.setScanAfter(false, time.Time{}) != nil || c.usage.setScanAfter(true, time.Time{}) != nil { // as if some time went by
		t.Fatal("no account")
	}
	return err
}

func keepMega(t *testing.T, c *Cache, i int, version string) (kept bool) {
	t.Helper()
	s := originShard(i, version, mega)
	d := openDecoded(t, c, s, mega)
	err := d.Keep(t.Context(), 0, decodedTruth(s, 0, mega))
	if err != nil && !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	settle(t, c)
	if c.usage.setScanAfter(false, time.Time{}) != nil || c.usage.setScanAfter(true, time.Time{}) != nil {
		t.Fatal("no account")
	}
	return d.Held(0, mega) == mega
}

// TestShardsEvictDecoded: a shard that finds no room takes that of decoded bytes, used longest ago
// first, though their time is not over; shards whose time is not over stay.
func TestShardsEvictDecoded(t *testing.T) {
	c := openTest(t, Options{Limit: 5 * mega, DecodedLimit: 5 * mega, Policy: Keep})
	if err := fillMega(t, c, 0, "v1"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if !keepMega(t, c, i, "v1") {
			t.Fatal("not kept")
		}
		time.Sleep(5 * time.Millisecond)
	}
	expectHeld(t, c, "0 0d 1d 2d")
	if keepMega(t, c, 3, "v1") {
		t.Error("decoded bytes made room for others before their time was over")
	}
	c.files.closeIdle(0)
	_ = os.Remove(fileNameOf(c, 3)) // its head alone
	if err := fillMega(t, c, 1, "v1"); err != nil {
		t.Error(err)
	}
	expectHeld(t, c, "0 1 1d 2d")
	if err := errors.Join(fillMega(t, c, 2, "v1"), fillMega(t, c, 3, "v1")); err != nil {
		t.Error(err)
	}
	expectHeld(t, c, "0 1 2 3")
	if keepMega(t, c, 0, "v1") {
		t.Error("decoded bytes evicted a shard")
	}
	if err := fillMega(t, c, 4, "v1"); !errors.Is(err, ErrFull) {
		t.Errorf("a shard evicted another one before its time was over: %v", err)
	}
}

func fileNameOf(c *Cache, i int) string {
	s := originShard(i, "v1", mega)
	k, _ := decodedKeyOf(&origin{}, s, "form", mega)
	return c.root.Path() + "/" + k.name
}

// TestDecodedLimit: decoded bytes stay below their own limit, and there those whose time is over
// make room for others. Shards are left alone though their time is over too.
func TestDecodedLimit(t *testing.T) {
	c := openTest(t, Options{Limit: 20 * mega, DecodedLimit: 5 * mega / 2, KeepFor: 50 * time.Millisecond})
	if err := fillMega(t, c, 7, "v1"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if !keepMega(t, c, i, "v1") {
			t.Fatal("not kept")
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.KeepFor(time.Hour)
	time.Sleep(60 * time.Millisecond)
	if !keepMega(t, c, 2, "v1") {
		t.Error("it is not kept though the time of others is over")
	}
	expectHeld(t, c, "1d 2d 7")
	if !keepMega(t, c, 3, "v1") {
		t.Error("it is not kept though the time of another is over")
	}
	expectHeld(t, c, "2d 3d 7")
	if keepMega(t, c, 4, "v1") {
		t.Error("it is kept though nothing may go")
	}
}

// TestDecodedLeavesShards: decoded bytes evict no shard though its time is over, except a version
// that was replaced, and that one only where the limit of all is reached.
func TestDecodedLeavesShards(t *testing.T) {
	for _, c := range []struct {
		name    string
		limit   amount
		first   int // the shards that are filled, as "v0" and "v1"
		kept    bool
		heldNow string
	}{
		{"time is over", amount{5 * mega / 2, 5 * mega / 2}, 0, false, "0v0 1 2d"},
		{"replaced", amount{5 * mega / 2, 5 * mega / 2}, 1, true, "1 2d"},
		{"replaced, and there is room", amount{20 * mega, mega / 2}, 1, false, "1 1v0 2d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := openTest(t, Options{Limit: c.limit.all, DecodedLimit: c.limit.decoded, KeepFor: time.Millisecond})
			err := fillMega(t, cache, c.first, "v0")
			time.Sleep(5 * time.Millisecond)
			if err = errors.Join(err, fillMega(t, cache, 1, "v1")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
			s := originShard(2, "v1", mega)
			d := openDecoded(t, cache, s, mega)
			for off := int64(0); off < mega; off += mega / 4 { // a part fits
				_ = d.Keep(t.Context(), off, decodedTruth(s, off, mega/4))
				settle(t, cache)
			}
			if kept := d.Held(0, mega) == mega; kept != c.kept {
				t.Errorf("%d bytes are kept", d.Held(0, mega))
			}
			expectHeld(t, cache, c.heldNow)
		})
	}
}

// TestDecodedScan: that decoded bytes found no room does not keep a shard from looking for it.
func TestDecodedScan(t *testing.T) {
	c := openTest(t, Options{Limit: 5 * mega / 2, DecodedLimit: 5 * mega / 2})
	for i := range 3 {
		s := originShard(i, "v1", mega)
		_ = openDecoded(t, c, s, mega).Keep(t.Context(), 0, decodedTruth(s, 0, mega))
		settle(t, c)
	}
	if st := c.Stats(); st.DecodedFilledBytes < 2*mega || st.DecodedFilledBytes == 3*mega {
		t.Errorf("%+v", st)
	}
	if openDecoded(t, c, originShard(3, "v1", mega), mega).MayKeep(mega) {
		t.Error("it may be kept right after others found no room")
	}
	s := originShard(4, "v1", mega)
	if _, err := c.Fill(t.Context(), &origin{}, s, []shard.Span{{N: mega}}, nil); err != nil {
		t.Error(err)
	}
}

// TestDecodedSupersede: decoded bytes of a version that was replaced go for new ones, whatever
// their time; those of the version in use stay.
func TestDecodedSupersede(t *testing.T) {
	c := openTest(t, Options{Limit: 20 * mega, DecodedLimit: 5 * mega / 2})
	if !keepMega(t, c, 0, "v1") || !keepMega(t, c, 1, "v1") {
		t.Fatal("not kept")
	}
	time.Sleep(5 * time.Millisecond)
	for _, i := range []int{0, 1} {
		version := []string{"v1", "v2"}[i]
		if err := fillMega(t, c, i, version); err != nil {
			t.Fatal(err)
		}
	}
	expectHeld(t, c, "0 0d 1d 1v2")
	if !keepMega(t, c, 2, "v1") {
		t.Error("a version that was replaced made no room")
	}
	expectHeld(t, c, "0 0d 1v2 2d")
}

// TestDecodedInUseStays: decoded bytes that another Cache has open are not evicted.
func TestDecodedInUseStays(t *testing.T) {
	dir := testDir(t)
	user := openTest(t, Options{Dir: dir, Limit: 3 * mega, DecodedLimit: 3 * mega})
	s := originShard(0, "v1", mega)
	d := openDecoded(t, user, s, mega)
	keepDecoded(t, d, s, 0, mega)
	settle(t, user)
	l, err := d.Lend(0, mega)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	c := openTest(t, Options{Dir: dir, Limit: 3 * mega, DecodedLimit: 3 * mega})
	for i := 1; i < 4; i++ {
		_ = fillMega(t, c, i, "v1")
	}
	expectDecoded(t, d, s, 0, mega)
	c.files.closeIdle(0)
	if freed, err := Clear(t.Context(), dir); err != nil || freed.InUse != 1 || freed.Decoded != 0 {
		t.Errorf("%+v, %v", freed, err)
	}
}

// TestDecodedFloor: a file system that is nearly full takes no decoded bytes.
func TestDecodedFloor(t *testing.T) {
	c := openTest(t, Options{MinFree: 0.9999999, DecodedLimit: mega, Events: Events{Low: func(err error) { t.Error(err) }}})
	if keepMega(t, c, 0, "v1") {
		t.Error("it is kept")
	}
	if err := c.usage.setScanAfter(true, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if openDecoded(t, c, originShard(0, "v1", mega), mega).MayKeep(10) {
		t.Error("MayKeep does not see that the disk is full")
	}
}

// TestDecodedAccount: the account of decoded bytes is put right by a look at the files; the notes
// of killed processes count no more, nor do notes that an older release left in a slot it took.
func TestDecodedAccount(t *testing.T) {
	c := openTest(t, Options{DecodedLimit: 1 << 30})
	if !keepMega(t, c, 0, "v1") || fillMega(t, c, 0, "v1") != nil {
		t.Fatal("not kept")
	}
	u := c.usage
	if ok, err := u.reserve(room{5000, true}, c.limit()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := u.reserve(room{1 << 30, true}, amount{1 << 40, 1 << 30}); ok || err != nil {
		t.Fatal("more than the limit of decoded bytes", err)
	}
	if ok, err := u.reserve(room{1 << 20, true}, amount{1 << 20, 1 << 30}); ok || err != nil {
		t.Fatal("more than the limit", err)
	}
	if a, err := u.amount(); a.decoded > 2*mega || err != nil {
		t.Errorf("what was refused is counted: %+v, %v", a, err)
	}
	u.word(u.slotAt(17)).Store(1 << 40) // of a process that was killed
	u.word(u.decodedSlotAt(17)).Store(1 << 40)
	u.word(u.decodedSlotAt(u.slot)).Add(1 << 40) // more than it writes at all
	u.word(totalAt).Add(1 << 40)
	u.word(decodedAt).Add(1 << 40)
	if _, err := Collect(t.Context(), c.options.Dir, CollectOptions{}); err != nil {
		t.Fatal(err)
	}
	space, err := Usage(c.options.Dir)
	a, err2 := u.amount()
	if err != nil || err2 != nil || a.all != space.Bytes+5000 || a.decoded != space.DecodedBytes+5000 || space.DecodedBytes < mega || space.Bytes < 2*mega {
		t.Errorf("%+v are counted of %+v, %v, %v", a, space, err, err2)
	}
	u.word(u.decodedSlotAt(u.slot)).Add(-1 << 40)
	if err := u.commit(room{5000, true}); err != nil {
		t.Fatal(err)
	}
	c.files.closeIdle(0)
	freed, err := Clear(t.Context(), c.options.Dir)
	if err != nil || freed.Shards != 1 || freed.Decoded != 1 || freed.Bytes != space.Bytes {
		t.Errorf("%+v, %v", freed, err)
	}
	if a, err := u.amount(); a != (amount{}) || err != nil {
		t.Errorf("%+v are counted of nothing, %v", a, err)
	}
}
