package main

import (
	"math/rand/v2"
	"testing"
)

// The parts are contiguous and disjoint, hold everything, and are even up to the largest item.
func TestSplitBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		bytes := make([]int64, r.IntN(40))
		var total, largest int64
		for i := range bytes {
			bytes[i] = r.Int64N(1000)
			if r.IntN(4) == 0 {
				bytes[i] = 0
			}
			total += bytes[i]
			largest = max(largest, bytes[i])
		}
		worldSize := 1 + r.IntN(12)
		next := 0
		for rank := range worldSize {
			first, end := splitBytes(bytes, rank, worldSize)
			if first != next && first != end || end < first {
				t.Fatalf("%v: rank %d of %d has %d to %d, after %d", bytes, rank, worldSize, first, end, next)
			}
			if first != end {
				next = end
			}
			var mine int64
			for _, n := range bytes[first:end] {
				mine += n
			}
			if fair := float64(total) / float64(worldSize); float64(mine) > fair+float64(largest) || float64(mine) < fair-float64(largest) {
				t.Fatalf("%v: rank %d of %d has %d bytes of %d", bytes, rank, worldSize, mine, total)
			}
		}
		if next != len(bytes) {
			t.Fatalf("%v: the items from %d on are nobody's", bytes, next)
		}
	}
}
