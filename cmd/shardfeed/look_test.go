package main

import "testing"

// Each row has the same chance: over many seeds every row comes about equally often.
func TestChoose(t *testing.T) {
	const rows, picked, seeds = 20, 5, 4000
	var times [rows]int
	for seed := range uint64(seeds) {
		s := sampling{look: look{count: picked}, sampleSeed: seed}
		chosen := s.choose(rows)
		if len(chosen) != picked {
			t.Fatalf("%d rows", len(chosen))
		}
		for i, row := range chosen {
			if i > 0 && row <= chosen[i-1] {
				t.Fatalf("rows %v do not ascend", chosen)
			}
			times[row]++
		}
	}
	for row, n := range times { // 1000 each, with a standard deviation of 27
		if n < 850 || n > 1150 {
			t.Errorf("row %d was chosen %d times of 1000", row, n)
		}
	}
}
