package rule

import (
	"fmt"
	"math"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// TestHash64 holds the hash against the values of XXH64's own self-test.
func TestHash64(t *testing.T) {
	const prime32, prime64 = 2654435761, 11400714785074694797
	buf, gen := make([]byte, 222), uint64(prime32)
	for i := range buf {
		buf[i] = byte(gen >> 56)
		gen *= prime64
	}
	for _, c := range []struct {
		n    int
		seed uint64
		want uint64
	}{
		{0, 0, 0xEF46DB3751D8E999},
		{0, prime32, 0xAC75FDA2929B17EF},
		{1, 0, 0xE934A84ADB052768},
		{1, prime32, 0x5014607643A9B4C3},
		{4, 0, 0x9136A0DCA57457EE},
		{14, 0, 0x8282DCC4994E35C8},
		{14, prime32, 0xC3BD6BF63DEB6DF0},
		{222, 0, 0xB641AE8CB691C174},
		{222, prime32, 0x20CB8AB7AE10C14A},
	} {
		t.Run(fmt.Sprintf("%d bytes, seed %d", c.n, c.seed), func(t *testing.T) {
			if got := hash64(c.seed, buf[:c.n]); got != c.want {
				t.Errorf("hash %#x, want %#x", got, c.want)
			}
		})
	}
}

// TestHashOfEqualValues: how a number is stored does not show in its hash.
func TestHashOfEqualValues(t *testing.T) {
	hash := func(a *column.Array) uint64 { return hasher(a, 7)(0) }
	nan := math.Float64frombits(0x7ff8000000000001)
	for _, c := range []struct {
		name string
		of   []*column.Array
	}{
		{"-5", []*column.Array{oneValue(int8(-5)), oneValue(int16(-5)), oneValue(int32(-5)), oneValue(int64(-5))}},
		{"200", []*column.Array{oneValue(uint8(200)), oneValue(uint16(200)), oneValue(uint32(200)), oneValue(uint64(200)), oneValue(int64(200))}},
		{"zero", []*column.Array{oneValue(0.0), oneValue(math.Copysign(0, -1)), oneValue(float32(math.Copysign(0, -1)))}},
		{"half", []*column.Array{oneValue(0.5), oneValue(float32(0.5))}},
		{"nan", []*column.Array{oneValue(math.NaN()), oneValue(nan), oneValue(float32(math.NaN()))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range c.of {
				if got, want := hash(a), hash(c.of[0]); got != want {
					t.Errorf("%v has the hash %#x, %v has %#x", a.Field, got, c.of[0].Field, want)
				}
			}
		})
	}
	if hash(oneValue(int64(1))) != hash64(7, []byte{1, 0, 0, 0, 0, 0, 0, 0}) {
		t.Error("an integer is not hashed as 8 bytes, little-endian")
	}
}

func oneValue[T column.Value](v T) *column.Array {
	return &column.Array{Field: column.FieldOf[T]("v"), Len: 1, Data: asBytes(v)}
}
