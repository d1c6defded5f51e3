package rowgroup

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// linear is n values in the DELTA_BINARY_PACKED encoding, each step more than the one before.
func linear(n int, first, step int64) []byte {
	b := binary.AppendUvarint([]byte{128, 1, 4}, uint64(n))
	b = binary.AppendVarint(b, first)
	for i := 1; i < n; i += 128 {
		b = append(binary.AppendVarint(b, step), 0, 0, 0, 0)
	}
	return b
}

// Values that share ever longer prefixes would fill memory from a few bytes.
func TestDeltaBytesThatGrow(t *testing.T) {
	text := craftLeaf(format.ByteArray, 0, 0, textField)
	for n, fails := range map[int]bool{1000: false, 30_000: true, 200_000: true} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			body := append(append(linear(n, 0, 1), linear(n, 1, 0)...), bytes.Repeat([]byte("x"), n)...)
			got, err := decodeCrafted(text, n, Layout{}, refuseUTF8, new(craft).v1(n, format.DeltaByteArray, format.RLE, body).chunk(text.leaf, n))
			if fails && (err == nil || !strings.Contains(err.Error(), "bytes")) || !fails && (err != nil || !strings.HasPrefix(got, `"x" "xx" "xxx" `)) {
				t.Errorf("%d values: %.20s, %v", n, got, err)
			}
		})
	}
}

func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for _, width := range []int{1, 2, 3, 4, 8, 16} {
		for _, nulls := range []int{1, 2, 3, 20, 1000} { // one in so many
			n, from := 1+r.IntN(400), r.IntN(100)
			valid := make(parquet.Bitmap, parquet.BitmapWords(from+n))
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
			spread(slots, dense, width, valid, from, n)
			if !bytes.Equal(slots, want) {
				t.Errorf("width %d, one null in %d: got %x, want %x", width, nulls, slots, want)
			}
		}
	}
}
