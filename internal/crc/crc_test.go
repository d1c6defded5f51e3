package crc

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewPCG(seed, 1)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

// TestSum: sums of all lengths and places are the standard library's.
func TestSum(t *testing.T) {
	b := random(3, 70_000)
	for _, sum := range []uint32{0, 1, 0xffffffff, 0x12345678} {
		t.Run(fmt.Sprintf("after %#x", sum), func(t *testing.T) {
			for n := range 2000 {
				at := n * 7 % 300
				if got, want := Append(sum, b[at:at+n]), crc32.Update(sum, crc32.IEEETable, b[at:at+n]); got != want {
					t.Fatalf("%d bytes from %d on: %#x, want %#x", n, at, got, want)
				}
			}
		})
	}
	for at := range 300 {
		if got, want := Of(b[at:at+65_536]), crc32.ChecksumIEEE(b[at:at+65_536]); got != want {
			t.Fatalf("a block from %d on: %#x, want %#x", at, got, want)
		}
	}
}

func FuzzJoin(f *testing.F) {
	f.Add([]byte("abc"), 1)
	f.Add(random(1, 70_000), 65_536)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		at = (at & 0x7fffffff) % (len(b) + 1)
		if got, want := Join(Of(b[:at]), Of(b[at:]), len(b)-at), Of(b); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
		if got, want := Append(Of(b[:at]), b[at:]), Of(b); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	})
}
