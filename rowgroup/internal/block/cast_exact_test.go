package block

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// TestDecimalKernel holds decimals of all widths against big integers.
func TestDecimalKernel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	put := func(n *big.Int, width int) (b [32]byte, ok bool) {
		bound := new(big.Int).Lsh(big.NewInt(1), uint(8*width-1))
		ok = n.Cmp(bound) < 0 && n.Cmp(new(big.Int).Neg(bound)) >= 0
		m := new(big.Int).Mod(n, new(big.Int).Lsh(big.NewInt(1), 256)).FillBytes(make([]byte, 32))
		for i := range b {
			b[i] = m[31-i]
		}
		return b, ok
	}
	for range 20_000 {
		from := &column.Field{Type: column.TypeDecimal, Width: []int{8, 16, 32}[r.IntN(3)], Scale: r.IntN(10)}
		to := &column.Field{Type: column.TypeDecimal, Width: []int{8, 16, 32}[r.IntN(3)], Scale: from.Scale + r.IntN(30)}
		n := new(big.Int)
		for range 1 + r.IntN(from.Width/8) {
			n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(r.Uint64()>>r.IntN(64)))
		}
		n.Rsh(n, uint(1+r.IntN(60)))
		if r.IntN(2) == 0 {
			n.Neg(n)
		}
		src, fits := put(n, from.Width)
		if !fits {
			continue
		}
		want, ok := put(new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to.Scale-from.Scale)), nil)), to.Width)
		var got [32]byte
		misfit := decimalKernel(from, to)(unsafe.Pointer(&got), 1, unsafe.Pointer(&src), 1, nil)
		if misfit == ok || ok && string(got[:to.Width]) != string(want[:to.Width]) {
			t.Fatalf("%v of scale %d to %d in %d bytes: got %x, misfit %v, want %x, %v", n, from.Scale, to.Scale, to.Width, got, misfit, want, ok)
		}
	}
}
