package loader

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The words and numbers are fixed for ever: a run that is resumed with a later version repeats its
// transforms.
func TestKeyGolden(t *testing.T) {
	for _, c := range []struct {
		key  key
		want string
	}{
		{key{}, "78ae5a9a6b5fd45e cbd37ad29b93b094 946076"},
		{key{seed: 1}, "348c3d1af8bec8e5 fc1f9d47c1a5266c 446622"},
		{key{epoch: 1}, "f19264ec81b77bd5 08fb9b6c0c4c8910 634302"},
		{key{step: 1}, "f7fb34d9eccd0982 e09adb90e16fcf72 536824"},
		{key{rank: 1}, "2b0619420fa97989 e4eb92aef7863ec7 558238"},
		{key{transform: 1}, "a5d3758b95b92366 6ae50bb70340ca91 142476"},
		{key{seed: 42, epoch: 3, step: 1000, rank: 7, transform: 2}, "dfbb1151063d0baa cdea0a7dee44bc21 977874"},
	} {
		t.Run(fmt.Sprintf("%+v", c.key), func(t *testing.T) {
			hi, lo := c.key.pcg()
			r := rand.New(rand.NewPCG(hi, lo))
			if got := fmt.Sprintf("%016x %016x %d", hi, lo, r.IntN(1000000)); got != c.want {
				t.Errorf("%+v: got %q, want %q", c.key, got, c.want)
			}
		})
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[[2]uint64]key{}
	for i := range 4 * 4 * 16 * 4 * 4 {
		k := key{seed: uint64(i % 4), epoch: int64(i / 4 % 4), step: int64(i / 16 % 16), rank: i / 256 % 4, transform: i / 1024}
		hi, lo := k.pcg()
		if other, ok := seen[[2]uint64{hi, lo}]; ok {
			t.Fatalf("%+v and %+v are the same", k, other)
		}
		seen[[2]uint64{hi, lo}] = k
	}
}
