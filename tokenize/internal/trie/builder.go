package trie

import (
	"math/bits"
	"slices"
	"strings"
)

// A builder places nodes in the array.
type builder struct {
	keys   []string // sorted, without equal ones
	values []int32
	units  []unit
	free   []uint64 // bits of units without a node
	based  []uint64 // bits of bases that are taken
	from   int      // first word of free that is searched
}

func newBuilder(keys []string, values []int32) *builder {
	order := make([]int32, 0, len(keys))
	for i, key := range keys {
		if key != "" {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return strings.Compare(keys[a], keys[b]) })
	b := &builder{}
	for i, at := range order {
		if i+1 < len(order) && keys[at] == keys[order[i+1]] {
			continue
		}
		b.keys, b.values = append(b.keys, keys[at]), append(b.values, values[at])
	}
	b.grow()
	b.take(0, unit{value: None})
	b.based[0] |= 1 // base 0 has no children
	return b
}

// A span is a node whose children are not placed yet: the keys that start with its text.
type span struct {
	at       uint32 // its unit
	depth    int
	from, to int
}

// build places all nodes. ok is false if there are too many.
func (b *builder) build() (ok bool) {
	todo := []span{{to: len(b.keys)}}
	var children []byte
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.from < s.to && len(b.keys[s.from]) == s.depth {
			b.units[s.at].value = b.values[s.from]
			s.from++
		}
		if s.from == s.to {
			continue
		}
		children = children[:0]
		for i := s.from; i < s.to; i++ {
			if c := b.keys[i][s.depth]; len(children) == 0 || children[len(children)-1] != c {
				children = append(children, c)
			}
		}
		base, ok := b.base(children)
		if !ok {
			return false
		}
		b.based[base/64] |= 1 << (base % 64)
		b.units[s.at].head |= base << baseShift
		for _, c := range children {
			b.take(base^uint32(c), unit{head: used | uint32(c), value: None})
		}
		for i := s.from; i < s.to; {
			c, j := b.keys[i][s.depth], i
			for j < s.to && b.keys[j][s.depth] == c {
				j++
			}
			todo = append(todo, span{at: base ^ uint32(c), depth: s.depth + 1, from: i, to: j})
			i = j
		}
	}
	return true
}

// tries limits how many free units are tried for a node before the array grows.
const tries = 128

// base finds a base whose children are free.
func (b *builder) base(children []byte) (base uint32, ok bool) {
	left := tries
	for word := b.from; ; word++ {
		if word == len(b.free) {
			if len(b.units) == maxUnits {
				return 0, false
			}
			b.grow()
		}
		for rest := b.free[word]; rest != 0; rest &= rest - 1 {
			base := uint32(64*word+bits.TrailingZeros64(rest)) ^ uint32(children[0])
			if b.fits(base, children) {
				return base, true
			}
			left--
		}
		if left <= 0 {
			b.from, left = max(b.from, len(b.free)-labels/64), tries // the next word is in the last block, or after it
			word = max(word, b.from-1)
		}
	}
}

// fits reports whether base is not taken and its children are free.
func (b *builder) fits(base uint32, children []byte) bool {
	if b.based[base/64]>>(base%64)&1 != 0 {
		return false
	}
	for _, c := range children {
		if at := base ^ uint32(c); b.free[at/64]>>(at%64)&1 == 0 {
			return false
		}
	}
	return true
}

// grow adds units for the children of one base more.
func (b *builder) grow() {
	b.units = append(b.units, make([]unit, labels)...)
	b.based = append(b.based, make([]uint64, labels/64)...)
	for range labels / 64 {
		b.free = append(b.free, ^uint64(0))
	}
}

func (b *builder) take(at uint32, u unit) {
	b.free[at/64] &^= 1 << (at % 64)
	b.units[at] = u
}
