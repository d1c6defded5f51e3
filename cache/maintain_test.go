package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// filled is a directory with shards of a megabyte each, used one after the other, and closed.
func filled(t *testing.T, shards ...shard.Shard) (dir string) {
	t.Helper()
	c := openTest(t, Options{})
	for _, s := range shards {
		if _, err := c.Fill(t.Context(), &origin{}, s, []shard.Span{{N: s.Size}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, c)
	return c.options.Dir
}

const mega = 1 << 20

// backdate sets when a shard was used, by its place in the order of List.
func backdate(t *testing.T, dir string, ages ...time.Duration) {
	t.Helper()
	all, err := List(t.Context(), dir)
	if err != nil || len(all) != len(ages) {
		t.Fatal(len(all), err)
	}
	for i, e := range all {
		header := make([]byte, namesAt)
		f, err := os.OpenFile(e.Path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		used := time.Now().Add(-ages[i])
		stamp{used: used, until: used.Add(time.Hour)}.put(header)
		if _, err := f.WriteAt(header[usedAt:], usedAt); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func TestList(t *testing.T) {
	dir := filled(t, originShard(2, "v1", mega), originShard(1, "v1", mega), originShard(1, "v2", 100))
	all, err := List(t.Context(), dir)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for i, want := range []Entry{
		{URI: "remote://bucket/part-1.parquet", Size: mega, Version: "v1", Held: mega, Superseded: true},
		{URI: "remote://bucket/part-1.parquet", Size: 100, Version: "v2", Held: 100},
		{URI: "remote://bucket/part-2.parquet", Size: mega, Version: "v1", Held: mega},
	} {
		got := all[i]
		if got.Allocated < got.Held || time.Since(got.Used) > time.Minute || time.Until(got.KeptUntil) < 23*time.Hour {
			t.Errorf("%+v", got)
		}
		got.Allocated, got.Used, got.KeptUntil, got.Path = 0, time.Time{}, time.Time{}, ""
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	space, err := Usage(dir)
	if err != nil || space.Shards != 3 || space.Bytes < 2*mega || space.Bytes > 3*mega || space.Limit != 1<<30 || space.Free == 0 {
		t.Errorf("%+v, %v", space, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Verify(ctx, dir, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Clear(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNothingThere: a directory that is not there holds nothing, and is not made.
func TestNothingThere(t *testing.T) {
	dir := filepath.Join(testDir(t), "a", "b")
	all, err1 := List(t.Context(), dir)
	space, err2 := Usage(dir)
	report, err3 := Verify(t.Context(), dir, nil)
	freed, err4 := Clear(t.Context(), dir)
	freed2, err5 := Collect(t.Context(), dir, CollectOptions{ToBytes: 1})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Error(err)
	}
	if len(all) != 0 || space.Bytes != 0 || report.Shards != 0 || freed.Shards != 0 || freed2.Shards != 0 {
		t.Error(all, space, report, freed, freed2)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was made")
	}
}

func TestVerify(t *testing.T) {
	dir := filled(t, originShard(1, "v1", mega), originShard(2, "v1", mega))
	all, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var read int64
	r, err := Verify(t.Context(), dir, func(n int64) { read += n })
	if err != nil || r.Bad != 0 || r.Shards != 2 || r.Bytes != 2*mega || r.Blocks != 32 || read != 2*mega {
		t.Errorf("%+v, %d, %v", r, read, err)
	}
	f, err := os.OpenFile(all[0].Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flipByte(t, f, blockSize+5*blockSize+3, 1)
	alien := filepath.Join(filepath.Dir(all[1].Path), hash96("x")+"-"+hash96("y"))
	if err := os.WriteFile(alien, []byte("alien"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = Verify(t.Context(), dir, nil); err != nil || r.Bad != 1 || len(r.BadURIs) != 2 || r.BadURIs[0] != all[0].URI && r.BadURIs[1] != all[0].URI {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.Remove(alien); err != nil {
		t.Fatal(err)
	}
	if r, err = Verify(t.Context(), dir, nil); err != nil || r.Bad != 0 || r.Bytes != 2*mega-blockSize {
		t.Errorf("the second time: %+v, %v", r, err)
	}
	if err := os.Truncate(all[1].Path, 5*blockSize); err != nil {
		t.Fatal(err)
	}
	if r, err = Verify(t.Context(), dir, nil); err != nil || len(r.BadURIs) != 1 || r.BadURIs[0] != all[1].Path {
		t.Errorf("a cut file: %+v, %v", r, err)
	}
}

func TestCollect(t *testing.T) {
	shards := []shard.Shard{originShard(1, "v1", mega), originShard(1, "v2", mega), originShard(2, "v1", mega), originShard(3, "v1", mega)}
	ages := []time.Duration{10 * time.Hour, time.Minute, 5 * time.Hour, 20 * time.Hour} // part-1 v1, part-1 v2, part-2, part-3
	for _, c := range []struct {
		name string
		o    CollectOptions
		left []string
	}{
		{"nothing", CollectOptions{}, []string{"1 v1", "1 v2", "2 v1", "3 v1"}},
		{"older", CollectOptions{OlderThan: 6 * time.Hour}, []string{"1 v2", "2 v1"}},
		{"superseded", CollectOptions{Superseded: true}, []string{"1 v2", "2 v1", "3 v1"}},
		{"to bytes", CollectOptions{ToBytes: 2*mega + mega/2}, []string{"1 v2", "2 v1"}},
		{"to fewer", CollectOptions{ToBytes: 1}, nil},
		{"both", CollectOptions{OlderThan: 15 * time.Hour, Superseded: true}, []string{"1 v2", "2 v1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filled(t, shards...)
			backdate(t, dir, ages...)
			before, err := Usage(dir)
			if err != nil {
				t.Fatal(err)
			}
			freed, err := Collect(t.Context(), dir, c.o)
			after, err2 := Usage(dir)
			if err != nil || err2 != nil || freed.Shards != 4-len(c.left) || freed.Bytes != before.Bytes-after.Bytes {
				t.Errorf("%+v of %d, %d left, %v", freed, before.Bytes, after.Bytes, err)
			}
			all, err := List(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range all {
				left = append(left, e.URI[len("remote://bucket/part-"):][:1]+" "+e.Version)
			}
			if len(left) != len(c.left) {
				t.Fatalf("left %v, want %v", left, c.left)
			}
			for i := range left {
				if left[i] != c.left[i] {
					t.Errorf("left %v, want %v", left, c.left)
				}
			}
			u, err := mapUsage(rootOf(t, filepath.Join(dir, formatDir)))
			if err != nil {
				t.Fatal(err)
			}
			defer u.close()
			if n, err := u.bytes(); n != after.Bytes || err != nil {
				t.Errorf("%d counted, %d on the disk, %v", n, after.Bytes, err)
			}
		})
	}
}

// TestLeftovers: what killed processes left is removed once it is old, and their notes in the
// account count no more.
func TestLeftovers(t *testing.T) {
	dir := filled(t, originShard(1, "v1", mega))
	all, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	old, young := all[0].Path+leftoverMark+"1", all[0].Path+leftoverMark+"2"
	trial := filepath.Join(dir, formatDir, trialMark+"1")
	for _, path := range []string{old, young, trial} {
		if err := os.WriteFile(path, make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Minute)
	for _, path := range []string{old, trial} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	u, err := mapUsage(rootOf(t, filepath.Join(dir, formatDir)))
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	u.word(u.slotAt(17)).Store(1 << 40) // of a process that was killed
	u.word(totalAt).Add(1 << 40)
	if _, err := Collect(t.Context(), dir, CollectOptions{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, trial: false, young: true, all[0].Path: true} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%v", err)
			}
		})
	}
	space, err := Usage(dir)
	if n, err2 := u.bytes(); n != space.Bytes || err != nil || err2 != nil {
		t.Errorf("%d counted, %d on the disk, %v, %v", n, space.Bytes, err, err2)
	}
}

// TestClearLeavesOthers: what does not belong to the cache stays, and a cache that is open goes on.
func TestClearLeavesOthers(t *testing.T) {
	source, s := &origin{}, originShard(1, "v1", mega)
	c := openTest(t, Options{})
	if _, err := c.Fill(t.Context(), source, s, []shard.Span{{N: mega}}, nil); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(c.options.Dir, "index")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.files.closeIdle(0)
	if freed, err := Clear(t.Context(), c.options.Dir); err != nil || freed.Shards != 1 || freed.Bytes < mega {
		t.Errorf("%+v, %v", freed, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if err := readRight(openShard(t, c, source, s), s, []shard.Range{{P: make([]byte, mega)}}); err != nil {
		t.Error(err)
	}
	settle(t, c)
	if n, err := c.Held(source, s, []shard.Span{{N: mega}}); n != mega || err != nil {
		t.Errorf("%d held, %v", n, err)
	}
}
