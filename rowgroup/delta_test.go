package rowgroup

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

func TestDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	var p delta.BinaryPackedEncoding
	for _, n := range []int{1, 2, 31, 32, 33, 128, 129, 130, 1000} {
		for width := range 33 {
			want := make([]int32, n)
			wide := make([]int64, n)
			for i := range want {
				want[i] = int32(r.Uint32() >> (32 - width))
				wide[i] = int64(r.Uint64() >> (64 - 2*width) << (width / 3))
			}
			b, err := p.EncodeInt32(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]uint32, n)
			used, err := decodeDeltaPrefix(got, append(slices.Clip(b), "rest"...))
			if err != nil || used != len(b) || !slices.Equal(asBytes(got), asBytes(want)) {
				t.Errorf("%d values of %d bits: %d of %d bytes, %v", n, width, used, len(b), err)
			}
			if b, err = p.EncodeInt64(nil, wide); err != nil {
				t.Fatal(err)
			}
			got64 := make([]uint64, n)
			if err := decodeDelta(got64, slices.Clip(b)); err != nil || !slices.Equal(asBytes(got64), asBytes(wide)) {
				t.Errorf("%d values of %d bits: %v", n, 2*width, err)
			}
			if n > 1 {
				if err := decodeDelta(got64[:n-1], b); err == nil {
					t.Errorf("%d of %d values are taken", n-1, n)
				}
			}
		}
	}
}

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
		body := append(append(linear(n, 0, 1), linear(n, 1, 0)...), bytes.Repeat([]byte("x"), n)...)
		got, err := decodeCrafted(text, n, Layout{}, RefuseUTF8, new(craft).v1(n, format.DeltaByteArray, format.RLE, body).chunk(text.leaf, n))
		if fails && (err == nil || !strings.Contains(err.Error(), "bytes")) || !fails && (err != nil || !strings.HasPrefix(got, `"x" "xx" "xxx" `)) {
			t.Errorf("%d values: %.20s, %v", n, got, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, width := range []int{1, 2, 3, 4, 8, 12, 16} {
		want := make([]byte, 21*width)
		for i := range want {
			want[i] = byte(i * 7)
		}
		src := make([]byte, len(want))
		for i := range 21 {
			for k := range width {
				src[k*21+i] = want[i*width+k]
			}
		}
		got := make([]byte, len(want))
		if err := decodeSplit(got, src, width); err != nil || !bytes.Equal(got, want) {
			t.Errorf("width %d: %v", width, err)
		}
		if err := decodeSplit(make([]byte, len(want)+width), src, width); err == nil {
			t.Errorf("width %d: a value too many is taken", width)
		}
	}
}

func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	for _, width := range []int{1, 2, 3, 4, 8, 16} {
		for _, nulls := range []int{1, 2, 3, 20, 1000} { // one in so many
			n, from := 1+r.IntN(400), r.IntN(100)
			valid := make(bitmap, bitmapWords(from+n))
			want, present := make([]byte, n*width), 0
			slots := make([]byte, n*width)
			var values []byte
			for i := range n {
				if r.IntN(nulls) == 0 {
					continue
				}
				valid.or(from+i, 1)
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

func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	for width := uint(1); width <= 32; width++ {
		for _, n := range []int{1, 7, 8, 9, 31, 64, 65, 200} {
			want, b := make([]uint32, n), make([]byte, (n*int(width)+7)/8)
			for i := range want {
				want[i] = r.Uint32() >> (32 - width)
				for k := range width {
					bit := i*int(width) + int(k)
					b[bit>>3] |= byte(want[i]>>k&1) << (bit & 7)
				}
			}
			b = slices.Clip(b) // nothing behind
			got := make([]uint32, n)
			if unpack(got, b, width); !slices.Equal(got, want) {
				t.Errorf("%d values of %d bits: got %v, want %v", n, width, got, want)
			}
			short := make([]uint16, n)
			if width <= 16 {
				unpackShort(short, b, width)
				checkUnpacked(t, short, want, width)
				checkBelow(t, shortsBelow, short, want)
			}
			narrow := make([]byte, n)
			if width <= 8 {
				unpackNarrow(narrow, b, width)
				checkUnpacked(t, narrow, want, width)
				checkBelow(t, bytesBelow, narrow, want)
			}
		}
	}
}

func checkUnpacked[T byte | uint16](t *testing.T, got []T, want []uint32, width uint) {
	t.Helper()
	for i, v := range got {
		if uint32(v) != want[i] {
			t.Errorf("%d bits, value %d: got %d, want %d", width, i, v, want[i])
		}
	}
}

func checkBelow[T byte | uint16](t *testing.T, below func([]T, int) bool, vs []T, want []uint32) {
	t.Helper()
	greatest := int(slices.Max(want))
	if !below(vs, greatest+1) || below(vs, greatest) || greatest > 0 && below(vs, (greatest+1)/2) {
		t.Errorf("%d values up to %d: below %d %v, below %d %v", len(vs), greatest, greatest+1, below(vs, greatest+1), greatest, below(vs, greatest))
	}
}
