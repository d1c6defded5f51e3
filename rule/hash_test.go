package rule

import (
	"fmt"
	"testing"
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
