package resize

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Planes have each pixel's channels in order, or from right to left, for widths around what vectors
// write at once, and nothing else is written.
func TestPlanes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 3*packed + 3 {
		for _, flip := range []bool{false, true} {
			row := make(Row, n)
			want := [3][]byte{make([]byte, n+2), make([]byte, n+2), make([]byte, n+2)}
			for x := range row {
				pixel := [3]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
				row[x] = Pack(pixel[0], pixel[1], pixel[2])
				at := x
				if flip {
					at = n - 1 - x
				}
				for c, v := range pixel {
					want[c][1+at] = v
				}
			}
			got := [3][]byte{make([]byte, n+2), make([]byte, n+2), make([]byte, n+2)}
			row.Planes(got[0][1:1+n], got[1][1:1+n], got[2][1:1+n], flip)
			for c := range got {
				if !slices.Equal(got[c], want[c]) {
					t.Fatalf("%d pixels, flipped %t: channel %d is %v, want %v", n, flip, c, got[c], want[c])
				}
			}
			first := make([]byte, n+2)
			row.Plane(first[1:1+n], flip)
			if !slices.Equal(first, want[0]) {
				t.Fatalf("%d pixels, flipped %t: the first channel is %v, want %v", n, flip, first, want[0])
			}
		}
	}
}
