package parquet

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"

	"github.com/shardfeed/shardfeed/internal/mem"
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
			used, err := DecodeDelta(got, append(slices.Clip(b), "rest"...))
			if err != nil || used != len(b) || !slices.Equal(mem.AsBytes(got), mem.AsBytes(want)) {
				t.Errorf("%d values of %d bits: %d of %d bytes, %v", n, width, used, len(b), err)
			}
			if b, err = p.EncodeInt64(nil, wide); err != nil {
				t.Fatal(err)
			}
			got64 := make([]uint64, n)
			if _, err := DecodeDelta(got64, slices.Clip(b)); err != nil || !slices.Equal(mem.AsBytes(got64), mem.AsBytes(wide)) {
				t.Errorf("%d values of %d bits: %v", n, 2*width, err)
			}
			if n > 1 {
				if _, err := DecodeDelta(got64[:n-1], b); err == nil {
					t.Errorf("%d of %d values are taken", n-1, n)
				}
			}
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
		if err := DecodeSplit(got, src, width); err != nil || !bytes.Equal(got, want) {
			t.Errorf("width %d: %v", width, err)
		}
		if err := DecodeSplit(make([]byte, len(want)+width), src, width); err == nil {
			t.Errorf("width %d: a value too many is taken", width)
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
			if Unpack(got, b, width); !slices.Equal(got, want) {
				t.Errorf("%d values of %d bits: got %v, want %v", n, width, got, want)
			}
			short := make([]uint16, n)
			if width <= 16 {
				UnpackShort(short, b, width)
				checkUnpacked(t, short, want, width)
				checkBelow(t, ShortsBelow, short, want)
			}
			narrow := make([]byte, n)
			if width <= 8 {
				UnpackNarrow(narrow, b, width)
				checkUnpacked(t, narrow, want, width)
				checkBelow(t, BytesBelow, narrow, want)
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
