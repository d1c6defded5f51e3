package mem

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestClassOf(t *testing.T) {
	for _, c := range []struct{ n, want int }{
		{1, 32 << 10},
		{32 << 10, 32 << 10},
		{32<<10 + 1, 40 << 10},
		{40 << 10, 40 << 10},
		{64 << 10, 64 << 10},
		{1<<20 + 1, 1<<20 + 256<<10},
		{5 << 20, 5 << 20},
		{5<<20 + 1, 6 << 20},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if got := classOf(c.n); got != c.want {
				t.Errorf("classOf(%d) = %d, want %d", c.n, got, c.want)
			}
		})
	}
	for n := 1; n < 64<<20; n = n*9/8 + 1 {
		if c := classOf(n); c < n || c > max(minClass, n+n/4) {
			t.Errorf("classOf(%d) = %d", n, c)
		}
	}
}

// A model of the pool: buffers in use never overlap, and the counts match the buffers handed out.
func TestPoolModel(t *testing.T) {
	var p Pool
	rng := rand.New(rand.NewPCG(3, 4))
	type held struct {
		b    []byte
		mark byte
	}
	var out []held
	var sum int64
	for i := range 3000 {
		if len(out) > 0 && (rng.IntN(2) == 0 || len(out) > 40) {
			k := rng.IntN(len(out))
			h := out[k]
			for _, at := range []int{0, len(h.b) / 2, cap(h.b) - 1} {
				if h.b[:cap(h.b)][at] != h.mark {
					t.Fatalf("step %d: a buffer was overwritten while in use", i)
				}
			}
			sum -= int64(cap(h.b))
			p.Put(h.b)
			out = append(out[:k], out[k+1:]...)
			continue
		}
		n := 1 + rng.IntN(1<<uint(10+rng.IntN(13)))
		b := p.Get(n)
		if len(b) != n || uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
			t.Fatalf("step %d: length %d for %d, or not aligned", i, len(b), n)
		}
		mark := byte(i)
		for _, at := range []int{0, len(b) / 2, cap(b) - 1} {
			b[:cap(b)][at] = mark
		}
		sum += int64(cap(b))
		out = append(out, held{b, mark})
	}
	if got := p.Stats().InUse; got != sum {
		t.Fatalf("in use %d, want %d", got, sum)
	}
	for _, h := range out {
		p.Put(h.b)
	}
	if got := p.Stats(); got.InUse != 0 || got.Idle > idleFloor {
		t.Fatalf("all given back: %+v", got)
	}
	p.Trim(0)
	if got := p.Stats().Idle; got != 0 {
		t.Fatalf("idle after Trim(0): %d", got)
	}
}

// Buffers of one small size, once free, make room for those of another, and are unmapped when they
// are too many.
func TestPoolSlabsChangeClass(t *testing.T) {
	var p Pool
	mapped := func() int64 { return int64(len(p.slabs.at)) * slabBytes }
	var most int64
	for _, n := range []int{64 << 10, 300 << 10, 1 << 20, 40 << 10, 1<<20 + 700<<10} {
		var bufs [][]byte
		for sum := 0; sum < 64<<20; sum += n {
			bufs = append(bufs, p.Get(n))
		}
		most = max(most, mapped())
		for _, b := range bufs {
			p.Put(b)
		}
	}
	if most > 64<<20*5/4+idleFloor {
		t.Errorf("%d bytes are mapped for 64 MiB in use", most)
	}
	if s := p.Stats(); s.Idle > idleFloor || mapped() != s.Idle {
		t.Errorf("%d bytes are idle, %d mapped", s.Idle, mapped())
	}
	p.Trim(0)
	if mapped() != 0 {
		t.Errorf("%d bytes are mapped after Trim(0)", mapped())
	}
}

func TestPoolReuses(t *testing.T) {
	var p Pool
	b := p.Get(4 << 20)
	at := &b[0]
	p.Put(b)
	if c := p.Get(4<<20 - 100); &c[0] != at {
		t.Fatal("a buffer of the same class was not reused")
	}
}

func TestArena(t *testing.T) {
	var p Pool
	a := p.NewArena()
	small := a.Alloc(10)
	again := a.Alloc(10)
	if d := uintptr(unsafe.Pointer(&again[0])) - uintptr(unsafe.Pointer(&small[0])); d < 74 || d > 256 {
		t.Fatalf("small allocations lie %d bytes apart", d)
	}
	if cap(small) < 74 {
		t.Fatalf("capacity %d leaves no slack", cap(small))
	}
	copy(small, "0123456789")
	grown := a.Grow(small, 1<<20)
	if string(grown[:10]) != "0123456789" || len(grown) != 1<<20 {
		t.Fatal("Grow lost bytes")
	}
	before := a.Bytes()
	grown = a.Grow(grown, 3<<20)
	if a.Bytes()-before > 3<<20 {
		t.Fatalf("Grow kept the old buffer: %d then %d bytes", before, a.Bytes())
	}
	if string(grown[:10]) != "0123456789" {
		t.Fatal("Grow lost bytes")
	}
	a.Free()
	if a.Bytes() != 0 || p.Stats().InUse != 0 {
		t.Fatalf("after Free: %d, %+v", a.Bytes(), p.Stats())
	}
	if b := a.Alloc(100); len(b) != 100 {
		t.Fatal("an arena can be used again")
	}
	a.Free()
}

// A pool with a limit panics before it holds more, and is as it was.
func TestPoolLimit(t *testing.T) {
	p := Pool{Limit: 1 << 20}
	b := p.Get(768 << 10)
	func() {
		defer func() {
			if e, ok := recover().(Exceeded); !ok || e.Limit != p.Limit || e.Need <= p.Limit {
				t.Errorf("recovered %v", e)
			}
		}()
		p.Get(512 << 10)
	}()
	if use := p.Stats().InUse; use != int64(cap(b)) {
		t.Errorf("%d bytes in use", use)
	}
	p.Put(b)
	p.Put(p.Get(1 << 20))
}
