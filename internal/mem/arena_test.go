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
		for j := range b[:n+64] { // the 64 bytes behind are writable and belong to it alone
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

// Memory that an arena took over goes back with it, once, and the other one starts empty.
func TestArenaAdopts(t *testing.T) {
	var p Pool
	a, b := p.NewArena(), p.NewArena()
	a.Alloc(100)
	x := b.Alloc(200)
	b.Alloc(1 << 20)
	x[0] = 7
	sum := a.Bytes() + b.Bytes()
	a.Adopt(b)
	if a.Bytes() != sum || b.Bytes() != 0 || p.Stats().InUse != sum {
		t.Errorf("%d and %d bytes, %d of the pool, want %d in all", a.Bytes(), b.Bytes(), p.Stats().InUse, sum)
	}
	b.Free()
	if y := b.Alloc(200); &y[0] == &x[0] || x[0] != 7 {
		t.Error("the memory that was taken over is given out again")
	}
	a.Free()
	b.Free()
	if held := p.Stats().InUse; held != 0 {
		t.Errorf("%d bytes are not given back", held)
	}
}

// An arena of little is little, also beside large buffers: buffers that small allocations share
// double up to four of the smallest.
func TestArenaOfLittle(t *testing.T) {
	var p Pool
	a := p.NewArena()
	defer a.Free()
	a.Alloc(1 << 20)
	before := a.Bytes()
	for i, want := range []int64{32, 64, 128, 256, 384} {
		for a.Bytes()-before < want<<10 {
			a.Alloc(20 << 10)
		}
		if got := a.Bytes() - before; got != want<<10 {
			t.Fatalf("%d KiB of buffer %d, want %d", got>>10, i, want)
		}
	}
}
