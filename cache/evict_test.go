package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// epochs reads all shards in a new order each time, in parts, and returns what each epoch fetched.
func epochs(t *testing.T, c *Cache, shards int, size int64, n int) (fetched []int64) {
	t.Helper()
	source := &origin{}
	random := rand.New(rand.NewPCG(5, 5))
	for range n {
		before := source.fetched.Load()
		for _, i := range random.Perm(shards) {
			s := originShard(i, "v1", size)
			o := openShard(t, c, source, s)
			for off := int64(0); off < size; off += 300_000 {
				if err := readRight(o, s, []shard.Range{{Off: off, P: make([]byte, min(300_000, size-off))}}); err != nil {
					t.Fatal(err)
				}
			}
			settle(t, c)
			if on := usageOf(t, c); on > c.options.Limit {
				t.Fatalf("%d bytes on the disk, limit %d", on, c.options.Limit)
			}
			if err := c.usage.setScanAfter(false, time.Time{}); err != nil { // as if some time went by
				t.Fatal(err)
			}
		}
		fetched = append(fetched, source.fetched.Load()-before)
	}
	return fetched
}

func usageOf(t *testing.T, c *Cache) int64 {
	t.Helper()
	s, err := Usage(c.options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.Bytes
}

// TestKeepWhatFits: with room for half of the data, later epochs fetch half of it and hardly more.
// LRU is the control: it fetches most.
func TestKeepWhatFits(t *testing.T) {
	const shards, size = 24, 1<<20 + 100
	const limit = shards * size / 2
	kept := epochs(t, openTest(t, Options{Limit: limit}), shards, size, 3)
	for _, got := range kept[1:] {
		if best := float64(shards*size - limit); float64(got) > 1.03*best {
			t.Errorf("an epoch fetched %d bytes, the optimum is %.0f", got, best)
		}
	}
	control := epochs(t, openTest(t, Options{Limit: limit, Policy: LRU}), shards, size, 3)
	t.Logf("keep fetched %v, LRU %v, of %d", kept, control, shards*size)
	if control[1]+control[2] < (kept[1]+kept[2])*5/4 {
		t.Errorf("LRU fetched %v, keep %v: this test cannot tell them apart", control, kept)
	}
}

// TestTimeIsOver: what is kept no longer makes room for what is new.
func TestTimeIsOver(t *testing.T) {
	const size = 1 << 20
	source := &origin{}
	c := openTest(t, Options{Limit: 4 << 20, KeepFor: 50 * time.Millisecond})
	read := func(i int) {
		s := originShard(i, "v1", size)
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
			t.Fatal(err)
		}
		settle(t, c)
	}
	for i := range 3 {
		read(i)
	}
	time.Sleep(60 * time.Millisecond)
	c.KeepFor(time.Hour)
	for i := 3; i < 6; i++ {
		read(i)
	}
	for i := 3; i < 6; i++ {
		if n, err := c.Held(source, originShard(i, "v1", size), []shard.Span{{N: size}}); n != size || err != nil {
			t.Errorf("shard %d: %d bytes held, %v", i, n, err)
		}
	}
	if st := c.Stats(); st.Evicted == 0 || st.Evicted > 3 {
		t.Errorf("%v", st)
	}
	for i := 6; i < 9; i++ {
		read(i) // an hour is not over: passes through
	}
	if n, err := c.Held(source, originShard(3, "v1", size), []shard.Span{{N: size}}); n != size || err != nil {
		t.Errorf("what is to be kept was evicted: %d, %v", n, err)
	}
}

// TestOrderOfEviction: superseded versions go first, then the least recently used shards.
func TestOrderOfEviction(t *testing.T) {
	at := func(s int) stamp { return stamp{used: time.Unix(int64(s), 0)} }
	a, b := hash96("a"), hash96("b")
	all := []found{
		{name: "x/" + b + "-" + hash96("1"), stamp: at(5)},
		{name: "x/" + a + "-" + hash96("2"), stamp: at(9)},
		{name: "x/" + a + "-" + hash96("1"), stamp: at(7)},
		{name: "x/" + hash96("c") + "-" + hash96("1"), stamp: at(1)},
	}
	var got []int64
	for _, f := range inOrder(all) {
		got = append(got, f.used.Unix())
	}
	if want := [4]int64{7, 1, 5, 9}; len(got) != 4 || [4]int64(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOrderOfDecoded: decoded bytes go before shards. A version is in use as long as its decoded
// bytes are, and the other way round.
func TestOrderOfDecoded(t *testing.T) {
	shards := []key{{uri: "a", version: "1", size: 5}, {uri: "a", version: "2", size: 5}, {uri: "b", version: "1", size: 5}}
	var all []found
	for i, used := range [][2]int64{{10, 20}, {40, 30}, {1, 50}} { // of the shard, and of its decoded bytes
		k := shards[i]
		k.name = nameOf(k)
		d := k
		d.size, d.shardSize, d.form = 99, k.size, "form"
		d.name = nameOf(d)
		for j, k := range []key{k, d} {
			all = append(all, found{name: k.name, decoded: isDecoded(k.name), stamp: stamp{used: time.Unix(used[j], 0)}})
		}
	}
	var got []int64
	for i, f := range inOrder(all) {
		got = append(got, f.used.Unix())
		if want := i < 2; f.superseded != want {
			t.Errorf("used at %d: superseded %v", f.used.Unix(), f.superseded)
		}
	}
	if want := [6]int64{20, 10, 30, 50, 1, 40}; len(got) != 6 || [6]int64(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestInUseStays: what another Cache has open is not evicted, whatever its time.
func TestInUseStays(t *testing.T) {
	const size = 1 << 20
	dir, source := testDir(t), &origin{}
	user := openTest(t, Options{Dir: dir, Limit: 2 << 20, KeepFor: time.Nanosecond})
	s := originShard(0, "v1", size)
	if _, err := user.Fill(t.Context(), source, s, []shard.Span{{N: size}}, nil); err != nil {
		t.Fatal(err)
	}
	o := openShard(t, user, source, s)
	if err := readRight(o, s, []shard.Range{{P: make([]byte, size)}}); err != nil {
		t.Fatal(err)
	}
	other := openTest(t, Options{Dir: dir, Limit: 2 << 20, KeepFor: time.Nanosecond})
	for i := 1; i < 4; i++ {
		s := originShard(i, "v1", size)
		if err := readRight(openShard(t, other, source, s), s, []shard.Range{{P: make([]byte, size)}}); err != nil {
			t.Fatal(err)
		}
		settle(t, other)
	}
	if n, err := user.Held(source, s, []shard.Span{{N: size}}); n != size || err != nil {
		t.Errorf("%d bytes held, %v", n, err)
	}
	other.files.closeIdle(0)
	if freed, err := Clear(t.Context(), dir); err != nil || freed.InUse != 1 {
		t.Errorf("%+v, %v", freed, err)
	}
}

// TestStampGoesBackForItsOwn: the time until which a shard is kept grows, and only who set it sets
// it back.
func TestStampGoesBackForItsOwn(t *testing.T) {
	source, s := &origin{}, originShard(0, "v1", 1000)
	dir := testDir(t)
	use := func(t *testing.T, c *Cache, keep time.Duration) time.Duration {
		t.Helper()
		c.KeepFor(keep)
		c.files.closeIdle(0) // forgets that it was stamped not long ago
		if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
			t.Fatal(err)
		}
		settle(t, c)
		all, err := List(t.Context(), dir)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return time.Until(all[0].KeptUntil).Round(time.Hour)
	}
	a, b := openTest(t, Options{Dir: dir}), openTest(t, Options{Dir: dir})
	for i, step := range []struct {
		c          *Cache
		keep, want time.Duration
	}{{a, 24, 24}, {a, 2, 2}, {b, 1, 2}, {b, 5, 5}, {a, 2, 5}, {b, 3, 3}} {
		t.Run(fmt.Sprintf("step %d", i), func(t *testing.T) {
			if got := use(t, step.c, step.keep*time.Hour); got != step.want*time.Hour {
				t.Errorf("step %d: kept for %v, want %d h", i, got, step.want)
			}
		})
	}
}

// TestFloor: a file system that is nearly full is left alone.
func TestFloor(t *testing.T) {
	source, s := &origin{}, originShard(0, "v1", 1000)
	c := openTest(t, Options{MinFree: 0.9999999})
	if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, 1000)}}); err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.FilledBytes != 0 || st.Bypassed != 1 || st.Trouble != 0 {
		t.Errorf("%v", st)
	}
	if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: 10}}, nil); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}

// TestLowerLimit: a directory that was filled to a higher limit is brought below a lower one, used
// longest ago first.
func TestLowerLimit(t *testing.T) {
	dir := filled(t, originShard(1, "v1", mega), originShard(2, "v1", mega), originShard(3, "v1", mega), originShard(4, "v1", mega))
	backdate(t, dir, time.Minute, 3*time.Minute, 2*time.Minute, 4*time.Minute)
	c := openTest(t, Options{Dir: dir, Limit: 5 * mega / 2})
	for deadline := time.Now().Add(time.Minute); c.Stats().Evicted < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	all, err := List(t.Context(), dir)
	if err != nil || len(all) != 2 || all[0].URI != originShard(1, "", 0).URI || all[1].URI != originShard(3, "", 0).URI {
		t.Errorf("%+v, %v", all, err)
	}
}
