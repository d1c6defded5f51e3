package rule

import "math/bits"

// spaces is a set of small numbers that finds the least member from a number on. It is a tree of
// bitmaps: a bit shows that a word of the level below is not empty.
type spaces struct {
	levels [][]uint64 // the last has one word
}

// newSpaces returns a set of numbers below n.
func newSpaces(n int) spaces {
	var s spaces
	for {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, n))
		if n == 1 {
			return s
		}
	}
}

func (s *spaces) has(x int) bool { return s.levels[0][x>>6]>>(x&63)&1 == 1 }

func (s *spaces) add(x int) {
	for _, level := range s.levels {
		word := &level[x>>6]
		was := *word
		*word |= 1 << (x & 63)
		if was != 0 {
			return
		}
		x >>= 6
	}
}

func (s *spaces) drop(x int) {
	for _, level := range s.levels {
		word := &level[x>>6]
		if *word &^= 1 << (x & 63); *word != 0 {
			return
		}
		x >>= 6
	}
}

// atLeast returns the least member from x on, or -1.
func (s *spaces) atLeast(x int) int {
	for l, level := range s.levels {
		if x>>6 == len(level) {
			return -1
		}
		if word := level[x>>6] >> (x & 63); word != 0 {
			x += bits.TrailingZeros64(word)
			for l--; l >= 0; l-- {
				x = x<<6 + bits.TrailingZeros64(s.levels[l][x])
			}
			return x
		}
		x = x>>6 + 1
	}
	return -1
}

func (s *spaces) clear() {
	for _, level := range s.levels {
		clear(level)
	}
}
