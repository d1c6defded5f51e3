package shuffle

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// The generator is the library's, and the library's must not change either.
func TestRNGIsPCG(t *testing.T) {
	h := sha256.New()
	h.Write([]byte("shardfeed/plan/v1/rows"))
	for _, x := range []uint64{7, 1, 2, 3} {
		h.Write(binary.LittleEndian.AppendUint64(nil, x))
	}
	key := h.Sum(nil)
	want := rand.NewPCG(binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:]))
	got := newRNG(domRows, 7, 1, 2, 3)
	for i := range 10_000 {
		if g, w := got.uint64(), want.Uint64(); g != w {
			t.Fatalf("number %d is %#x, math/rand/v2 has %#x", i, g, w)
		}
	}
}

func TestGoldenRNG(t *testing.T) {
	for _, c := range []struct {
		dom  string
		seed uint64
		ids  []uint64
		want [4]uint64
	}{
		{domAssign, 0, []uint64{0}, goldenAssign},
		{domOrder, 7, []uint64{3, 11}, goldenOrder},
		{domRows, 1<<64 - 1, []uint64{0, 1 << 31, 1 << 40}, goldenRows},
		{domTick, 42, []uint64{1, 2, 3}, goldenTick},
	} {
		t.Run(c.dom, func(t *testing.T) {
			r := newRNG(c.dom, c.seed, c.ids...)
			for i, want := range c.want {
				if got := r.uint64(); got != want {
					t.Errorf("%s seed %d ids %v: number %d is %#x, want %#x", c.dom, c.seed, c.ids, i, got, want)
				}
			}
		})
	}
}

func TestGoldenBelow(t *testing.T) {
	r := newRNG(domTick, 1)
	var got []uint64
	for _, n := range []uint64{1, 2, 3, 10, 1000, 1 << 20, 1<<32 + 1, 1<<63 + 1, 1<<64 - 1} {
		got = append(got, r.below(n))
	}
	if !slices.Equal(got, goldenBelow) {
		t.Errorf("below gives %v, want %v", got, goldenBelow)
	}
}

// Just over half of all numbers are rejected below 2^63+1, and what remains must stay below.
func TestBelowRejects(t *testing.T) {
	r, raw := newRNG("test", 3), newRNG("test", 3)
	const n = 1<<63 + 1
	for range 1000 {
		if got := r.below(n); got >= n {
			t.Fatalf("%d is not below %d", got, uint64(n))
		}
	}
	draws := 0
	for ; raw != r; draws++ {
		raw.next()
		if draws > 10_000 {
			t.Fatal("below does not go on with the generator's next number")
		}
	}
	if draws < 1800 || draws > 2200 {
		t.Errorf("%d draws for 1,000 numbers, expected about 2,000", draws)
	}
}

func TestBelowIsEven(t *testing.T) {
	r := newRNG("test", 4)
	const n, draws = 7, 70_000
	var count [n]int
	for range draws {
		count[r.below(n)]++
	}
	for k, c := range count {
		if c < draws/n*95/100 || c > draws/n*105/100 {
			t.Errorf("%d came %d times of %d", k, c, draws)
		}
	}
}

func TestGoldenShuffle(t *testing.T) {
	r := newRNG(domRows, 5)
	got := permutation(&r, nil, 12)
	if !slices.Equal(got, goldenPermutation) {
		t.Errorf("permutation %v, want %v", got, goldenPermutation)
	}
	again := permutation(&r, make([]uint32, 100), 12)
	slices.Sort(again)
	for i, v := range again {
		if uint32(i) != v {
			t.Fatalf("no permutation: %v", again)
		}
	}
}

// Each of the 24 orders of four things must come as often as the others.
func TestShuffleIsEven(t *testing.T) {
	r := newRNG("test", 6)
	count := map[[4]uint32]int{}
	for range 24_000 {
		count[[4]uint32(permutation(&r, nil, 4))]++
	}
	if len(count) != 24 {
		t.Fatalf("%d orders of 24", len(count))
	}
	for order, c := range count {
		if c < 850 || c > 1150 {
			t.Errorf("%v came %d times of 24,000", order, c)
		}
	}
}
