//go:build linux

package cache

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// TestDecodedRot: a decoded byte that rots on the disk is never lent as right by a process that has
// opened the file since. Its block is written again, once.
func TestDecodedRot(t *testing.T) {
	const size = 5*blockSize + 100
	s := originShard(1, "v1", 1000)
	for _, at := range []int64{0, blockSize + 5, 2*blockSize - 1, size - 1} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			c, d := heldDecoded(t, s, size)
			path, l := fileOfKey(c, d.key)
			rot(t, path, l.data+at)
			if err := lendDecoded(d, s, 0, size); !errors.Is(err, shard.ErrCorrupt) {
				t.Errorf("rotten bytes are lent and not found out: %v", err)
			}
			block := at / blockSize * blockSize
			if st := c.Stats(); st.Bad != 1 || d.Held(0, size) != block {
				t.Errorf("%d bytes are held, %+v", d.Held(0, size), st)
			}
			before := c.Stats().DecodedFilledBytes
			keepDecoded(t, d, s, 0, size)
			settle(t, c)
			if n := c.Stats().DecodedFilledBytes - before; n != int64(blockLen(size, at/blockSize)) {
				t.Errorf("%d bytes were written again", n)
			}
			expectDecoded(t, d, s, 0, size)
		})
	}
}

// TestDecodedRotUnderLease: a lease fails when a block of the file was found damaged since it was
// lent, also when the block is whole again.
func TestDecodedRotUnderLease(t *testing.T) {
	const size = 3 * blockSize
	s := originShard(1, "v1", 1000)
	dir := testDir(t)
	c := openTest(t, Options{Dir: dir, DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, size)
	keepDecoded(t, d, s, 0, size)
	settle(t, c)
	l, err := d.Lend(0, size)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	path, layout := fileOfKey(c, d.key)
	rot(t, path, layout.data+blockSize)
	other := openDecoded(t, openTest(t, Options{Dir: dir, DecodedLimit: 1 << 20}), s, size)
	if err := lendDecoded(other, s, 0, size); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("another does not find it: %v", err)
	}
	keepDecoded(t, other, s, 0, size)
	settle(t, other.cache)
	expectDecoded(t, other, s, 0, size)
	if err := l.Verify(shard.Span{N: size}); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("it was damaged in between: %v", err)
	}
}

// TestDecodedVerifiedOnce: a block is verified once for as long as the file is open, and again when
// its entry changes or the file is opened again.
func TestDecodedVerifiedOnce(t *testing.T) {
	const size = 2*blockSize + 100
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, size)
	keepDecoded(t, d, s, 0, size-50)
	settle(t, c)
	path, l := fileOfKey(c, d.key)
	flipped := func(off int64) error { // lent with a byte that is wrong, which is put right again
		rot(t, path, l.data+off)
		defer rot(t, path, l.data+off)
		lease, err := d.Lend(0, d.Held(0, size))
		if err != nil {
			return err
		}
		defer lease.Release()
		return lease.Verify(shard.Span{N: int64(len(lease.Bytes()))})
	}
	expectDecoded(t, d, s, 0, size-50)
	if err := flipped(5); err != nil {
		t.Errorf("it was verified again: %v", err)
	}
	keepDecoded(t, d, s, 2*blockSize, 100)
	settle(t, c)
	if err := flipped(2*blockSize + 5); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("a block that grew is not verified: %v", err)
	}
	c.files.closeIdle(0)
	if err := flipped(5); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("a file that was opened again is not verified: %v", err)
	}
	if st := c.Stats(); st.Bad != 2 {
		t.Errorf("%+v", st)
	}
}

// TestDecodedNoVerify is the control: it does lend what rotted.
func TestDecodedNoVerify(t *testing.T) {
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20, noVerify: true})
	d := openDecoded(t, c, s, 1000)
	keepDecoded(t, d, s, 0, 1000)
	settle(t, c)
	path, l := fileOfKey(c, d.key)
	rot(t, path, l.data+500)
	if err := lendDecoded(d, s, 0, 1000); !errors.Is(err, errWrong) {
		t.Errorf("the byte that rotted is not lent: %v", err)
	}
}

// TestDamagedDecoded: whatever has happened to a decoded file, open and verified or not, nothing
// wrong is believed, and the space is soon whole again.
func TestDamagedDecoded(t *testing.T) {
	const size = 300_000
	s := originShard(1, "v1", 1000)
	for _, c := range fileDamages {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, open %v", c.name, open), func(t *testing.T) {
				cache, d := heldDecoded(t, s, size)
				expectDecoded(t, d, s, 0, size)
				if !open {
					cache.files.closeIdle(0)
				}
				path, l := fileOfKey(cache, d.key)
				c.damage(t, path, l)
				believed := func() {
					t.Helper()
					if err := lendDecoded(d, s, 0, size); errors.Is(err, errWrong) {
						t.Error(err)
					}
				}
				believed()
				for range 2 {
					_ = d.Keep(t.Context(), 0, decodedTruth(s, 0, size))
					settle(t, cache)
					believed()
				}
				cache.files.closeIdle(0)
				keepDecoded(t, d, s, 0, size)
				settle(t, cache)
				expectDecoded(t, d, s, 0, size)
				if cache.Stats().Trouble != 0 {
					t.Errorf("%+v", cache.Stats())
				}
			})
		}
	}
}

// TestDecodedLeaseOfCutFile: a file that is cut under a lease is an error where its bytes are
// touched, and where it is verified though its blocks were.
func TestDecodedLeaseOfCutFile(t *testing.T) {
	const size = 300_000
	s := originShard(1, "v1", 1000)
	c, d := heldDecoded(t, s, size)
	expectDecoded(t, d, s, 0, size)
	l, err := d.Lend(0, size)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	path, layout := fileOfKey(c, d.key)
	truncate(t, path, layout.data+5000)
	if err := l.Verify(shard.Span{N: 8000}); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("bytes that read as zeros: %v", err)
	}
	if _, err := d.Lend(0, size); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("it is lent again: %v", err)
	}
	if err := shard.Use(l, func() error { _ = bytes.Clone(l.Bytes()); return nil }); !errors.Is(err, shard.ErrChanged) {
		t.Errorf("touching it: %v", err)
	}
}

// TestDecodedTableGarbage: an entry that no writer wrote, of a run that does not begin with its
// block, is dropped and replaced.
func TestDecodedTableGarbage(t *testing.T) {
	s := originShard(1, "v1", 1000)
	c := openTest(t, Options{DecodedLimit: 1 << 20})
	d := openDecoded(t, c, s, 3*blockSize)
	keepDecoded(t, d, s, 0, 3*blockSize)
	settle(t, c)
	p, err := c.acquire(t.Context(), d.key, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.files.release(p)
	p.file.table[1].Store(uint64(newEntry(7, 100, 200)))
	if n := d.Held(0, 1<<20); n != blockSize {
		t.Errorf("%d bytes are held", n)
	}
	keepDecoded(t, d, s, blockSize, 50)
	settle(t, c)
	expectDecoded(t, d, s, 0, blockSize+50)
	if n := d.Held(0, 1<<20); n != blockSize+50 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestDecodedAgain: another use of a lease counts, and is refused when the lease is over or the
// file was cut.
func TestDecodedAgain(t *testing.T) {
	const size = 300_000
	s := originShard(1, "v1", 1000)
	c, d := heldDecoded(t, s, size)
	l, err := d.Lend(0, size)
	if err != nil {
		t.Fatal(err)
	}
	before := c.Stats().DecodedHitBytes
	if err := d.Again(l); err != nil || c.Stats().DecodedHitBytes != before+size {
		t.Errorf("%v, %d bytes of %d counted", err, c.Stats().DecodedHitBytes-before, size)
	}
	other, err := d.Lend(0, size)
	if err != nil {
		t.Fatal(err)
	}
	d.Discard(64<<10, 1)
	if err := d.Again(l); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("bytes that were dropped: %v", err)
	}
	keepDecoded(t, d, s, 0, size)
	settle(t, c)
	if err := d.Again(other); err != nil {
		t.Errorf("bytes that are held again: %v", err)
	}
	other.Release()
	path, layout := fileOfKey(c, d.key)
	truncate(t, path, layout.data+5000)
	if err := d.Again(l); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file that was cut: %v", err)
	}
	l.Release()
	if err := d.Again(l); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a lease that is over: %v", err)
	}
}
