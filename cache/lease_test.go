//go:build linux

package cache

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// TestVerifyOfParts: exactly the lent bytes are verified, a block at a time.
func TestVerifyOfParts(t *testing.T) {
	const size = 3*blockSize + 100
	content := random(4, size)
	meter, s, c, o := heldShard(t, content, 0, size)
	lent := shard.Span{Off: 10, N: size - 20}
	lease := lendTest(t, o, lent.Off, lent.N)
	defer lease.Release()
	path, l := fileOf(t, c, meter, s)
	rot(t, path, l.data+2*blockSize+5)
	for _, step := range []struct {
		used shard.Span
		want bool
	}{
		{shard.Span{Off: 9, N: 5}, false},
		{shard.Span{Off: size - 20, N: 11}, false}, // not lent
		{shard.Span{Off: 10, N: 5}, true},
		{shard.Span{Off: 500}, true},
		{shard.Span{Off: 10, N: 2*blockSize - 10}, true},
		{shard.Span{Off: size - 20, N: 10}, true},
		{shard.Span{Off: 2*blockSize + 100, N: 1}, false}, // beside the byte, in its block
		{shard.Span{Off: 10, N: 5}, false},                // the file is known to be damaged
	} {
		t.Run(fmt.Sprint(step.used), func(t *testing.T) {
			if err := lease.Verify(step.used); (err == nil) != step.want {
				t.Errorf("%v: %v", step.used, err)
			}
		})
	}
	if err := lease.Verify(lent); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("all of it: %v", err)
	}
}

// TestVerifyOfAFileGivenUp: a lease is held against the file that it is of, and not against one
// that took its place.
func TestVerifyOfAFileGivenUp(t *testing.T) {
	const size = 2*blockSize + 100
	content := random(5, size)
	meter, s, c, o := heldShard(t, content, 0, size)
	lease := lendTest(t, o, 0, size)
	path, l := fileOf(t, c, meter, s)
	rot(t, path, l.data+5)
	p, err := c.files.acquire(t.Context(), o.(*object).key, false)
	if err != nil {
		t.Fatal(err)
	}
	c.files.forget(p)
	c.files.release(p)
	replace(t, path, []byte("no shard file"))
	expect(t, o, content, 0, size)
	settle(t, c)
	next := lendTest(t, o, 0, size) // of the file that took its place
	defer next.Release()
	if err := lease.Verify(shard.Span{N: size}); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("the file that took its place was verified: %v", err)
	}
	if err := next.Verify(shard.Span{N: size}); err != nil {
		t.Errorf("the file that took its place: %v", err)
	}
	lease.Release()
	expectLease(t, o, content, 0, size)
}
