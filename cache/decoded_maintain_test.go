package cache

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// filledDecoded is a directory with two shards of a megabyte, and half as many decoded bytes of
// each and of a third.
func filledDecoded(t *testing.T) (dir string) {
	t.Helper()
	dir = filled(t, originShard(1, "v1", mega), originShard(2, "v1", mega))
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30})
	for i := range 3 {
		s := originShard(i+1, "v1", mega)
		keepDecoded(t, openDecoded(t, c, s, 2*mega), s, mega, mega/2)
	}
	closeTest(t, c)
	return dir
}

// TestListDecoded: decoded bytes are listed and counted apart from shards.
func TestListDecoded(t *testing.T) {
	dir := filledDecoded(t)
	all, err := List(t.Context(), dir)
	if err != nil || len(all) != 5 {
		t.Fatal(all, err)
	}
	for _, e := range all {
		want := Entry{URI: e.URI, Size: mega, Version: "v1", Held: mega}
		if e.Decoded {
			want.Size, want.Decoded, want.Held = 2*mega, true, mega/2
		}
		if e.Allocated < e.Held || time.Since(e.Used) > time.Minute || e.Decoded != strings.Contains(e.Path, "/d") {
			t.Errorf("%+v", e)
		}
		e.Allocated, e.Used, e.KeptUntil, e.Path = 0, time.Time{}, time.Time{}, ""
		if e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	space, err := Usage(dir)
	if err != nil || space.Shards != 2 || space.Decoded != 3 || space.DecodedBytes < 3*mega/2 || space.DecodedBytes > 2*mega || space.Bytes < space.DecodedBytes+2*mega {
		t.Errorf("%+v, %v", space, err)
	}
}

// TestVerifyDecoded: decoded bytes are verified, and a damaged block is dropped.
func TestVerifyDecoded(t *testing.T) {
	dir := filledDecoded(t)
	all, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(t.Context(), dir, nil); err != nil || r.Bad != 0 || r.Shards != 2 || r.Decoded != 3 || r.Bytes != 2*mega+3*mega/2 {
		t.Errorf("%+v, %v", r, err)
	}
	rotten := ""
	for _, e := range all {
		if e.Decoded && rotten == "" {
			f, err := os.OpenFile(e.Path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			flipByte(t, f, blockSize+mega+5, 1)
			f.Close()
			rotten = e.URI
		}
	}
	if r, err := Verify(t.Context(), dir, nil); err != nil || r.Bad != 1 || len(r.BadURIs) != 1 || r.BadURIs[0] != rotten {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Verify(t.Context(), dir, nil); err != nil || r.Bad != 0 || r.Bytes != 2*mega+3*mega/2-blockSize {
		t.Errorf("the second time: %+v, %v", r, err)
	}
}

// TestClearDecoded: decoded bytes are removed alone, except those in use.
func TestClearDecoded(t *testing.T) {
	dir := filledDecoded(t)
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 30})
	s := originShard(1, "v1", mega)
	d := openDecoded(t, c, s, 2*mega)
	l, err := d.Lend(mega+blockSize, 10)
	if err != nil {
		t.Fatal(err)
	}
	if freed, err := Collect(t.Context(), dir, CollectOptions{Decoded: true}); err != nil || freed.Shards != 0 || freed.Decoded != 2 || freed.InUse != 1 {
		t.Errorf("%+v, %v", freed, err)
	}
	l.Release()
	c.files.closeIdle(0)
	if freed, err := Collect(t.Context(), dir, CollectOptions{Decoded: true}); err != nil || freed.Shards != 0 || freed.Decoded != 1 || freed.InUse != 0 {
		t.Errorf("%+v, %v", freed, err)
	}
	if space, err := Usage(dir); err != nil || space.Shards != 2 || space.Decoded != 0 || space.DecodedBytes != 0 {
		t.Errorf("%+v, %v", space, err)
	}
}

// TestCollectDecoded: what is too much goes from decoded bytes first, and leftovers beside them go
// too.
func TestCollectDecoded(t *testing.T) {
	dir := filledDecoded(t)
	all, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var old string
	for _, e := range all {
		if e.Decoded {
			old = e.Path + leftoverMark + "1"
		}
	}
	past := time.Now().Add(-2 * time.Minute)
	if os.WriteFile(old, make([]byte, 5000), 0o600) != nil || os.Chtimes(old, past, past) != nil {
		t.Fatal("no leftover")
	}
	for _, step := range []struct {
		to              int64
		shards, decoded int
	}{{1 << 30, 0, 0}, {3*mega + mega/2, 0, 1}, {2*mega + mega/4, 0, 2}, {mega + mega/2, 1, 0}} {
		freed, err := Collect(t.Context(), dir, CollectOptions{ToBytes: step.to})
		if err != nil || freed.Shards != step.shards || freed.Decoded != step.decoded {
			t.Errorf("to %d: %+v, %v", step.to, freed, err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a leftover stays")
	}
	s := originShard(2, "v1", mega)
	if err := readRight(openShard(t, openTest(t, Options{Dir: dir}), &origin{}, s), s, []shard.Range{{P: make([]byte, mega)}}); err != nil {
		t.Error(err)
	}
}
