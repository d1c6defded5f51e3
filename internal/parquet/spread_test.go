package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for _, width := range []int{1, 2, 3, 4, 8, 16} {
		for _, nulls := range []int{1, 2, 3, 20, 1000} { // one in so many
			n, from := 1+r.IntN(400), r.IntN(100)
			valid := make(Bitmap, BitmapWords(from+n))
			want, present := make([]byte, n*width), 0
			slots := make([]byte, n*width)
			var values []byte
			for i := range n {
				if r.IntN(nulls) == 0 {
					continue
				}
				valid.Or(from+i, 1)
				present++
				for k := range width {
					want[i*width+k] = byte(1 + r.IntN(255))
				}
				values = append(values, want[i*width:(i+1)*width]...)
			}
			dense := slots[(n-present)*width:]
			copy(dense, values)
			Spread(slots, dense, width, valid, from, n)
			if !bytes.Equal(slots, want) {
				t.Errorf("width %d, one null in %d: got %x, want %x", width, nulls, slots, want)
			}
		}
	}
}
