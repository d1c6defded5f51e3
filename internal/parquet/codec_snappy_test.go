package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/klauspost/compress/snappy"
)

// guarded returns n bytes behind which lies a page that may not be touched.
func guarded(t testing.TB, n int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	whole := (n + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	if err := syscall.Mprotect(m[whole:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return m[whole-n : whole : whole]
}

// elements is a stream of Snappy and what it means, made byte by byte.
type elements struct{ src, dst []byte }

func (e *elements) literal(b ...byte) {
	n := len(b) - 1
	switch {
	case n < 60:
		e.src = append(e.src, byte(n<<2))
	case n < 1<<8:
		e.src = append(e.src, 60<<2, byte(n))
	case n < 1<<16:
		e.src = append(e.src, 61<<2, byte(n), byte(n>>8))
	default:
		e.src = append(e.src, 62<<2, byte(n), byte(n>>8), byte(n>>16))
	}
	e.src, e.dst = append(e.src, b...), append(e.dst, b...)
}

func (e *elements) copy(kind, n, distance int) {
	switch kind {
	case 1:
		e.src = append(e.src, byte(1|(n-4)<<2|distance>>8<<5), byte(distance))
	case 2:
		e.src = append(e.src, byte(2|(n-1)<<2), byte(distance), byte(distance>>8))
	case 3:
		e.src = binary.LittleEndian.AppendUint32(append(e.src, byte(3|(n-1)<<2)), uint32(distance))
	}
	for range n {
		e.dst = append(e.dst, e.dst[len(e.dst)-distance])
	}
}

// whole is the stream with its length in front, behind which lies a guard.
func (e *elements) whole(t testing.TB) []byte {
	head := binary.AppendUvarint(nil, uint64(len(e.dst)))
	b := guarded(t, len(head)+len(e.src))
	copy(b[copy(b, head):], e.src)
	return b
}

// randomElements prefers the elements of one kind of data: numbers, text, runs, long literals, or
// all.
func randomElements(r *rand.Rand, least int) (e elements) {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	e.literal(random(1 + r.IntN(100))...)
	flavour := r.IntN(5)
	for len(e.dst) < least {
		kind, far := r.IntN(4), 1+r.IntN(min(len(e.dst), 60_000))
		near := 1 + r.IntN(min(len(e.dst), 70))
		switch f := flavour; {
		case f == 0 && len(e.dst) > 64: // numbers
			n := 1 + r.IntN(5)
			e.literal(random(n)...)
			e.copy(2, max(1, 8-n+8*r.IntN(2)), 8*(1+r.IntN(min(len(e.dst)/8, 4000))))
		case f == 1 && kind > 0: // text
			e.copy(1, 4+r.IntN(8), min(far, 2047))
		case f == 2 && kind > 0: // runs
			e.copy(2, 1+r.IntN(64), near)
		case f == 3 && kind == 0:
			e.literal(random(1 + r.IntN(80_000))...)
		case kind == 0:
			e.literal(random(1 + r.IntN(70))...)
		case kind == 1:
			e.copy(1, 4+r.IntN(8), min(near, 2047))
		case kind == 2:
			e.copy(2, 1+r.IntN(64), min(far, 65_535))
		default:
			e.copy(3, 1+r.IntN(64), far)
		}
	}
	return e
}

// TestSnappyElements: elements of any kind are decompressed in any order, at any distance from the
// ends. A stream that is cut, or of another length, is refused. No byte beyond the ends is touched.
func TestSnappyElements(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 3000 {
		e := randomElements(r, r.IntN(3000))
		src, dst := e.whole(t), guarded(t, len(e.dst))
		if err := DecompressSnappy(dst, src); err != nil || !bytes.Equal(dst, e.dst) {
			t.Fatalf("%d elements' bytes as %d: %v", len(e.src), len(e.dst), err)
		}
		cut := guarded(t, r.IntN(len(src)))
		copy(cut, src)
		if err := DecompressSnappy(dst, cut); !errors.Is(err, errCodec) {
			t.Fatalf("%d of %d bytes: %v", len(cut), len(src), err)
		}
		for _, n := range []int{len(dst) - 1, len(dst) + 1, 0} {
			said := elements{src: e.src, dst: make([]byte, n)}
			if err := DecompressSnappy(guarded(t, n), said.whole(t)); !errors.Is(err, errCodec) {
				t.Fatalf("%d bytes said to be %d: %v", len(e.dst), n, err)
			}
		}
	}
}

// TestSnappyFault: source that cannot be read any more, as of a mapped file that was cut, is a
// panic that the caller can recover from.
func TestSnappyFault(t *testing.T) {
	e := randomElements(rand.New(rand.NewPCG(1, 1)), 9000)
	src := e.whole(t)
	page := syscall.Getpagesize()
	begin := (page - int(uintptr(unsafe.Pointer(&src[0])))%page) % page
	if err := syscall.Mprotect(src[begin:begin+page], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if _, ok := recover().(interface{ Addr() uintptr }); !ok {
			t.Error("no fault")
		}
	}()
	t.Error(DecompressSnappy(make([]byte, len(e.dst)), src))
}

// FuzzDecompressSnappy: whatever src is, it means what the library says.
func FuzzDecompressSnappy(f *testing.F) {
	for _, s := range []string{"", "a", strings.Repeat("ab", 300), strings.Repeat("a long text that repeats ", 500)} {
		f.Add(snappy.Encode(nil, []byte(s)))
	}
	r := rand.New(rand.NewPCG(3, 5))
	for range 40 {
		e := randomElements(r, 2000)
		f.Add(e.whole(f))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		n, err := snappy.DecodedLen(in)
		if err != nil || n > 1<<20 {
			return
		}
		src, got, want := guarded(t, len(in)), guarded(t, n), make([]byte, n)
		copy(src, in)
		_, wantErr := snappy.Decode(want, in)
		err = DecompressSnappy(got, src)
		switch {
		case err == nil && (wantErr != nil || !bytes.Equal(got, want)):
			t.Fatalf("other bytes; the library: %v", wantErr)
		case err != nil && wantErr == nil && !copiesFromNowhere(in):
			t.Fatal(err)
		}
	})
}

// FuzzWalkSnappy: step by step comes out what comes out at once.
func FuzzWalkSnappy(f *testing.F) {
	for _, s := range []string{"", "a", strings.Repeat("ab", 300), strings.Repeat("a long text that repeats ", 5000)} {
		f.Add(snappy.Encode(nil, []byte(s)), 100)
	}
	noise := make([]byte, 200_000)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	f.Add(snappy.Encode(nil, noise), 1)
	f.Add([]byte("\x05\x00a\x01\x01"), 1)             // four bytes from one before
	f.Add([]byte("\x03\xfc\x02\x00\x00\x00abc"), 1)   // a length of four bytes
	f.Add([]byte("\x05\x00a\x0f\x01\x00\x00\x00"), 1) // a distance of four
	f.Fuzz(func(t *testing.T, src []byte, step int) {
		n, err := snappy.DecodedLen(src)
		if err != nil || n > 1<<22 {
			return
		}
		want, got := make([]byte, n), make([]byte, n)
		wantErr := DecompressSnappy(want, src)
		done := 0
		err = WalkSnappy(got, src, max(1, step), func(n int) error {
			if n <= done || n > len(src) {
				t.Fatalf("done with %d of %d bytes after %d", n, len(src), done)
			}
			done = n
			return nil
		})
		if err != nil {
			if wantErr == nil && !copiesFromNowhere(src) {
				t.Fatal(err)
			}
			return
		}
		if wantErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes; at once: %v", wantErr)
		}
		if _, head := binary.Uvarint(src); done != len(src) && len(src) > head {
			t.Fatalf("done with %d bytes of %d", done, len(src))
		}
	})
}

// copiesFromNowhere says whether a copy has no distance, which the library takes as S2 means it.
func copiesFromNowhere(src []byte) bool {
	size, n := binary.Uvarint(src)
	w := SnappyWalk{Dst: make([]byte, size), Src: src, Step: len(src), In: n}
	for w.In < len(src) {
		tag := src[w.In:min(len(src), w.In+5)]
		if !w.Element() {
			return tag[0]&3 == 1 && tag[0]>>5 == 0 && len(tag) > 1 && tag[1] == 0
		}
	}
	return false
}
