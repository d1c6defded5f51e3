package shardtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func openMissing(t *testing.T, f Fixture) {
	f.Write(t, "a", content(1, 10))
	s := listOne(t, f, "a")
	f.Remove(t, "a")
	wantErr(t, firstError(t.Context(), f, s), shard.ErrNotExist, s.URI)
}

func openChanged(t *testing.T, f Fixture) {
	for _, size := range []int{9, 10, 11} { // also with the size that it had
		f.Write(t, "a", content(1, 10))
		s := listOne(t, f, "a")
		f.Write(t, "a", content(2, size))
		wantErr(t, firstError(t.Context(), f, s), shard.ErrChanged, s.URI)
	}
}

// A shard without a version is any content of its size.
func openUnversioned(t *testing.T, f Fixture) {
	f.Write(t, "a", content(1, 10))
	s := listOne(t, f, "a")
	s.Version, s.Instance = "", ""
	for seed := range uint64(2) {
		b := content(seed, 10)
		f.Write(t, "a", b)
		o, err := f.Store().Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, o, b, 3, 6)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
	f.Write(t, "a", content(1, 11))
	wantErr(t, firstError(t.Context(), f, s), shard.ErrChanged, s.URI)
}

// A file of a table has no version. All objects of a store read the content that was read first, or
// fail.
func openImmutable(t *testing.T, f Fixture) {
	f.Write(t, "a", content(1, 10))
	s := listOne(t, f, "a")
	s.Version, s.Instance, s.Immutable = "", "", true
	o, err := f.Store().Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	expect(t, o, content(1, 10), 3, 6)
	f.Write(t, "a", content(2, 10))
	first := func(o shard.Object, err error) {
		t.Helper()
		p := make([]byte, 10)
		if err == nil {
			err = o.ReadAt(t.Context(), p, 0)
		}
		if err != nil {
			wantErr(t, err, shard.ErrChanged, s.URI)
		} else if !bytes.Equal(p, content(1, 10)) {
			t.Error("read another content without an error")
		}
	}
	first(o, nil)
	again, err := f.Store().Open(t.Context(), s)
	if err == nil {
		defer again.Close()
	}
	first(again, err)
}

func openCancelled(t *testing.T, f Fixture) {
	f.Write(t, "a", content(1, 10))
	s := listOne(t, f, "a")
	ctx := cancelled(t)
	wantErr(t, firstError(ctx, f, s), ctx.Err(), s.URI)
}

// firstError returns the error of Open, or of the first read if Open does not look at the shard.
func firstError(ctx context.Context, f Fixture, s shard.Shard) error {
	o, err := f.Store().Open(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(o.ReadAt(ctx, make([]byte, 1), 0), o.Close())
}

func expect(t testing.TB, o shard.Object, all []byte, off, n int64) {
	t.Helper()
	p := make([]byte, n, n+8)
	tail := p[n : n+8]
	copy(tail, "untouched"[:8])
	if err := o.ReadAt(t.Context(), p, off); err != nil {
		t.Errorf("%d bytes from byte %d on: %v", n, off, err)
		return
	}
	if !bytes.Equal(p, all[off:off+n]) {
		t.Errorf("%d bytes from byte %d on are wrong", n, off)
	}
	if string(tail) != "untouche" {
		t.Errorf("%d bytes from byte %d on: wrote past the buffer", n, off)
	}
}

// ranges are the places where a driver can be off by one, and some between.
func ranges(size int64) [][2]int64 {
	var all [][2]int64
	edges := []int64{0, 1, 2, 4095, 4096, 4097, 65536, size / 2, size - 1, size}
	for _, off := range edges {
		for _, n := range append(edges, size-off, size-off-1) {
			if off >= 0 && n >= 0 && off+n <= size {
				all = append(all, [2]int64{off, n})
			}
		}
	}
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for range 50 {
		off := r.Int64N(size + 1)
		all = append(all, [2]int64{off, r.Int64N(size - off + 1)})
	}
	return all
}

func readRanges(t *testing.T, f Fixture) {
	for _, size := range []int{1, 4096, 100_001} {
		all := content(1, size)
		o := open(t, f, "a", all)
		for _, r := range ranges(int64(size)) {
			expect(t, o, all, r[0], r[1])
		}
	}
}

// readManyRanges reads ranges that touch, that have holes between them, and that are empty.
func readManyRanges(t *testing.T, f Fixture) {
	all := content(1, 3<<20)
	o := open(t, f, "a", all)
	r := rand.New(rand.NewPCG(2, 2))
	for range 30 {
		var want []shard.Range
		for off := r.Int64N(1 << 20); off < int64(len(all)); off += r.Int64N(3) * r.Int64N(1<<20) {
			n := min(r.Int64N(1<<18), int64(len(all))-off)
			want = append(want, shard.Range{Off: off, P: make([]byte, n)})
			off += n
		}
		if err := shard.ReadRanges(t.Context(), o, want); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !bytes.Equal(w.P, all[w.Off:w.Span().End()]) {
				t.Fatalf("%d bytes from byte %d on, one of %d ranges, are wrong", len(w.P), w.Off, len(want))
			}
		}
	}
	outside := []shard.Range{{Off: 0, P: make([]byte, 10)}, {Off: int64(len(all)) - 1, P: make([]byte, 2)}}
	wantErr(t, shard.ReadRanges(t.Context(), o, outside), io.ErrUnexpectedEOF, f.Address("a"))
	wantErr(t, shard.ReadRanges(cancelled(t), o, outside[:1]), context.Canceled, f.Address("a"))
}

func readOutside(t *testing.T, f Fixture) {
	o := open(t, f, "a", content(1, 100))
	for _, r := range [][2]int64{{0, 101}, {100, 1}, {99, 2}, {101, 0}, {1000, 1}, {1 << 62, 1 << 10}, {1<<63 - 1, 1}} {
		err := o.ReadAt(t.Context(), make([]byte, r[1]), r[0])
		wantErr(t, err, io.ErrUnexpectedEOF, f.Address("a"))
		if _, ok, err := shard.Lend(o, r[0], r[1]); ok {
			wantErr(t, err, io.ErrUnexpectedEOF, f.Address("a"))
		}
	}
	if err := o.ReadAt(t.Context(), make([]byte, 1), -1); err == nil {
		t.Fatal("read before the first byte")
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {-1, -1}} {
		if _, ok, err := shard.Lend(o, r[0], r[1]); ok && err == nil {
			t.Fatalf("view of %d bytes from byte %d on", r[1], r[0])
		}
	}
}

// readDisorder: ranges that overlap or descend are against the rules; they get their bytes all the
// same or an error, never others' bytes.
func readDisorder(t *testing.T, f Fixture) {
	all := content(3, 3<<20)
	o := open(t, f, "a", all)
	for _, spans := range [][][2]int64{{{2 << 20, 1000}, {100, 1000}}, {{100, 1000}, {600, 1000}}, {{100, 1000}, {100, 1000}}, {{100, 1000}, {200, 10}}} {
		var list []shard.Range
		for _, s := range spans {
			list = append(list, shard.Range{Off: s[0], P: make([]byte, s[1])})
		}
		if err := shard.ReadRanges(t.Context(), o, list); err != nil {
			continue
		}
		for _, r := range list {
			if !bytes.Equal(r.P, all[r.Off:r.Span().End()]) {
				t.Errorf("%v: wrong bytes from byte %d on, without an error", spans, r.Off)
			}
		}
	}
}

func readEmpty(t *testing.T, f Fixture) {
	o := open(t, f, "empty", nil)
	expect(t, o, nil, 0, 0)
	wantErr(t, o.ReadAt(t.Context(), make([]byte, 1), 0), io.ErrUnexpectedEOF, f.Address("empty"))
	if l, ok, err := shard.Lend(o, 0, 0); ok {
		if err != nil || len(l.Bytes()) != 0 {
			t.Fatalf("a lease of nothing: %v", err)
		}
		l.Release()
	}
}

func readConcurrent(t *testing.T, f Fixture) {
	all := content(1, 300_000)
	o := open(t, f, "a", all)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 20 {
				off := r.Int64N(int64(len(all)))
				expect(t, o, all, off, r.Int64N(int64(len(all))-off+1))
			}
		})
	}
	wg.Wait()
}

func readCancelled(t *testing.T, f Fixture) {
	all := content(1, 1000)
	o := open(t, f, "a", all)
	err := o.ReadAt(cancelled(t), make([]byte, 1000), 0)
	wantErr(t, err, context.Canceled, f.Address("a"))
	expect(t, o, all, 0, 1000) // the object goes on
}

// readWhileReplaced: an open object gives the bytes of its version or ErrChanged, and no others.
func readWhileReplaced(t *testing.T, f Fixture) {
	for _, size := range []int{999, 1000, 1001} {
		all := content(1, 1000)
		o := open(t, f, "a", all)
		f.Write(t, "a", content(2, size))
		p := make([]byte, 1000)
		err := o.ReadAt(t.Context(), p, 0)
		if err != nil {
			wantErr(t, err, shard.ErrChanged, f.Address("a"))
		} else if !bytes.Equal(p, all) {
			t.Fatal("read another version's bytes without an error")
		}
	}
}

// rangesWhileReplaced: many ranges never mix versions.
func rangesWhileReplaced(t *testing.T, f Fixture) {
	all := content(1, 3<<20)
	o := open(t, f, "a", all)
	f.Write(t, "a", content(2, 3<<20))
	want := []shard.Range{{Off: 0, P: make([]byte, 1000)}, {Off: 1 << 20, P: make([]byte, 1<<20)}, {Off: 3<<20 - 5, P: make([]byte, 5)}}
	if err := shard.ReadRanges(t.Context(), o, want); err != nil {
		wantErr(t, err, shard.ErrChanged, f.Address("a"))
		return
	}
	for _, w := range want {
		if !bytes.Equal(w.P, all[w.Off:w.Span().End()]) {
			t.Fatal("read another version's bytes without an error")
		}
	}
}

// readWhileRemoved: an open object gives its bytes or an error.
func readWhileRemoved(t *testing.T, f Fixture) {
	all := content(1, 1000)
	o := open(t, f, "a", all)
	f.Remove(t, "a")
	p := make([]byte, 1000)
	if err := o.ReadAt(t.Context(), p, 0); err == nil && !bytes.Equal(p, all) {
		t.Fatal("read other bytes without an error")
	} else if err != nil && !errors.Is(err, shard.ErrChanged) {
		wantErr(t, err, shard.ErrNotExist, f.Address("a"))
	}
}

func closeTwice(t *testing.T, f Fixture) {
	o := open(t, f, "a", content(1, 100))
	for range 2 {
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.ReadAt(t.Context(), make([]byte, 1), 0); err == nil {
		t.Fatal("read after Close")
	}
	if _, ok, err := shard.Lend(o, 0, 1); ok && err == nil {
		t.Fatal("view after Close")
	}
}

// lend borrows bytes, or skips the check if the store does not lend.
func lend(t *testing.T, o shard.Object, off, n int64) shard.Lease {
	t.Helper()
	l, ok, err := shard.Lend(o, off, n)
	if !ok {
		t.Skip("the store lends no bytes")
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// same touches lent bytes as they must be touched.
func same(l shard.Lease, want []byte) error {
	return shard.Use(l, func() error {
		if !bytes.Equal(l.Bytes(), want) {
			return errors.New("lent bytes are wrong")
		}
		return nil
	})
}

func viewRanges(t *testing.T, f Fixture) {
	all := content(1, 100_001)
	o := open(t, f, "a", all)
	for _, r := range ranges(int64(len(all))) {
		l := lend(t, o, r[0], r[1])
		if err := same(l, all[r[0]:r[0]+r[1]]); err != nil {
			t.Fatalf("%d bytes from byte %d on: %v", r[1], r[0], err)
		}
		if b := l.Bytes(); int64(cap(b)) != r[1] {
			t.Fatalf("%d bytes from byte %d on: capacity %d lets an append write to them", r[1], r[0], cap(b))
		}
		l.Forget(shard.Span{Off: r[0], N: r[1]})
		if err := same(l, all[r[0]:r[0]+r[1]]); err != nil {
			t.Fatalf("%d bytes from byte %d on, forgotten: %v", r[1], r[0], err)
		}
		if err := l.Verify(shard.Span{Off: r[0], N: r[1]}); err != nil {
			t.Fatalf("%d bytes from byte %d on: %v", r[1], r[0], err)
		}
		l.Release()
		l.Release()
	}
}

func viewOutlivesClose(t *testing.T, f Fixture) {
	all := content(1, 100_000)
	o := open(t, f, "a", all)
	l := lend(t, o, 10, 50_000)
	lend(t, o, 5_000, 90_000).Release()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	err := shard.Guard(func() error {
		if !bytes.Equal(l.Bytes(), all[10:50_010]) {
			return errors.New("lent bytes are wrong")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func viewConcurrent(t *testing.T, f Fixture) {
	all := content(1, 300_000)
	o := open(t, f, "a", all)
	lend(t, o, 0, 1).Release()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			for range 20 {
				off := r.Int64N(int64(len(all)))
				n := r.Int64N(int64(len(all)) - off + 1)
				l, _, err := shard.Lend(o, off, n)
				if err == nil {
					err = same(l, all[off:off+n])
					l.Release()
				}
				if err != nil {
					t.Errorf("%d bytes from byte %d on: %v", n, off, err)
				}
			}
		})
	}
	wg.Wait()
}
