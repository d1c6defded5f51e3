package mem

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestArenaAllocationsAreApart(t *testing.T) {
	var p Pool
	a := p.NewArena()
	r := rand.New(rand.NewPCG(3, 4))
	var all [][]byte
	for i := range 400 {
		n := r.IntN(1 << r.IntN(18))
		b := a.Alloc(n)
		if len(b) != n || cap(b) < n+64 {
			t.Fatalf("%d bytes asked, len %d, cap %d", n, len(b), cap(b))
		}
		if uintptr(unsafe.Pointer(&b[:1][0]))%64 != 0 {
			t.Fatalf("%d bytes begin at %p", n, &b[:1][0])
		}
		for j := range b[:n+64] { // the 64 bytes behind are writable and nobody else's
			b[:n+64][j] = byte(i)
		}
		all = append(all, b[:n+64])
	}
	for i, b := range all {
		for _, v := range b {
			if v != byte(i) {
				t.Fatalf("allocation %d was overwritten", i)
			}
		}
	}
	if got, want := a.Bytes(), p.Stats().InUse; got != want {
		t.Errorf("arena counts %d bytes, pool %d", got, want)
	}
	a.Free()
	if a.Bytes() != 0 || p.Stats().InUse != 0 {
		t.Errorf("after Free: arena %d, pool %d", a.Bytes(), p.Stats().InUse)
	}
	b := a.Alloc(10) // usable again
	b[0] = 1
	a.Free()
}

func TestArenaGrow(t *testing.T) {
	var p Pool
	for _, start := range []int{0, 1, 100, 30 << 10, 200 << 10, 3 << 20} {
		a := p.NewArena()
		b := a.Alloc(start)
		for i := range b {
			b[i] = byte(i * 7)
		}
		want := bytes.Clone(b)
		for n := start; n < 8<<20; n = n*3 + 1000 {
			b = a.Grow(b, n)
			if len(b) != n || cap(b) < n+64 {
				t.Fatalf("grown to %d: len %d, cap %d", n, len(b), cap(b))
			}
			if !bytes.Equal(b[:len(want)], want) {
				t.Fatalf("from %d to %d bytes: content lost", start, n)
			}
		}
		if got, want := a.Bytes(), p.Stats().InUse; got != want {
			t.Errorf("arena counts %d bytes, pool %d", got, want)
		}
		a.Free()
		if got := p.Stats().InUse; got != 0 {
			t.Fatalf("%d bytes left", got)
		}
	}
}

// A large buffer that grew is given back at once; small ones share theirs and stay.
func TestArenaGrowGivesLargeBuffersBack(t *testing.T) {
	var p Pool
	a := p.NewArena()
	b := a.Alloc(1 << 20)
	b = a.Grow(b, 4<<20)
	if got := a.Bytes(); got != int64(classOf(4<<20+64)) {
		t.Errorf("%d bytes held for %d", got, len(b))
	}
	a.Free()
}
