package words

import "testing"

// TestHugePages: a table keeps its content, whatever its size.
func TestHugePages(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 18, 3<<18 + 5} {
		table := make([]uint64, n)
		for i := range table {
			table[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		HugePages(table)
		for i, x := range table {
			if x != uint64(i)*0x9e3779b97f4a7c15 {
				t.Fatalf("element %d of %d is %#x", i, n, x)
			}
		}
	}
}
