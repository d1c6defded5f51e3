package bpe

import "github.com/shardfeed/shardfeed/tokenize/internal/words"

const (
	noSymbol  = maxID + 1     // a symbol that no pair has
	noPair    = noValue << 32 // more than any pair that has a value
	fan       = 16            // pairs of a block
	maxLevels = 8             // enough for texts of 2 GB
)

// A merger merges any number of symbols: of all pairs the one with the lowest value first, and of
// equal ones the leftmost.
type merger struct {
	ids    []uint32 // of symbols
	next   []int32  // the place of the next symbol
	prev   []int32
	levels [maxLevels][]uint64 // pairs as value << 32 | place; above them, the least of each block below
	top    int                 // the level of at most two blocks
	last   lastMerge

	scratch *words.Scratch
}

// A lastMerge is the pair that was joined last, and its value.
type lastMerge struct{ left, right, value uint32 }

// merge merges symbols: what is left is m.ids at the places 0, m.next[0] and so on, below
// len(symbols). made has the token of each value; if it is nil, values are tokens.
func (m *merger) merge(t *pairs, made, symbols []uint32) {
	m.start(t, symbols)
	ids, next, prev, pairs := m.ids, m.next, m.prev, m.levels[0]
	for least := m.least(); least < noPair; least = m.least() {
		i, value := int(uint32(least)), uint32(least>>32)
		j, before := int(next[i]), int(prev[i])
		m.last = lastMerge{left: ids[i], right: ids[j], value: value}
		ids[i] = value
		if made != nil {
			ids[i] = made[value]
		}
		after := int(next[j])
		next[i] = int32(after)
		pairs[i], pairs[j] = noPair, noPair
		if after < len(ids) {
			prev[after] = int32(i)
			pairs[i] = m.pair(t, i, after)
		}
		m.update(j)
		if before >= 0 {
			pairs[before] = m.pair(t, before, i)
			if before/fan != i/fan {
				m.update(before)
			}
		}
		if i/fan != j/fan || before >= 0 {
			m.update(i)
		}
	}
}

// start takes the symbols and their pairs.
func (m *merger) start(t *pairs, symbols []uint32) {
	n := len(symbols)
	m.ids = append(words.Grow(m.scratch, m.ids[:0], n), symbols...)
	m.next, m.prev = words.Grow(m.scratch, m.next[:0], n), words.Grow(m.scratch, m.prev[:0], n)
	pairs := m.level(0, n)
	for i := range symbols {
		m.next = append(m.next, int32(i+1))
		m.prev = append(m.prev, int32(i-1))
		pairs[i] = noPair
		if i+1 < n {
			pairs[i] = m.pair(t, i, i+1)
		}
	}
	for m.top = 0; len(pairs) > 2*fan; {
		m.top++
		least := m.level(m.top, len(pairs)/fan)
		for b := range len(pairs) / fan {
			least[b] = leastOf(pairs, b)
		}
		pairs = least
	}
}

// level returns the level k, of n elements and more that fill the last block.
func (m *merger) level(k, n int) []uint64 {
	size := (n + fan - 1) / fan * fan
	m.levels[k] = words.Grow(m.scratch, m.levels[k][:0], size)[:size]
	for i := n; i < size; i++ {
		m.levels[k][i] = noPair
	}
	return m.levels[k]
}

// pair returns the pair of the symbols at i and j.
func (m *merger) pair(t *pairs, i, j int) uint64 {
	return uint64(t.value(m.ids[i], m.ids[j]))<<32 | uint64(i)
}

// update sets the least of the blocks that have the pair at i.
func (m *merger) update(i int) {
	for k := range m.top {
		i /= fan
		least := leastOf(m.levels[k], i)
		if m.levels[k+1][i] == least {
			return
		}
		m.levels[k+1][i] = least
	}
}

// least returns the least of all pairs.
func (m *merger) least() uint64 {
	top := m.levels[m.top]
	least := leastOf(top, 0)
	if len(top) > fan {
		least = min(least, leastOf(top, 1))
	}
	return least
}

// leastOf returns the least of the block b of a level.
func leastOf(level []uint64, b int) uint64 {
	v := (*[fan]uint64)(level[b*fan:])
	x0, x1, x2, x3 := v[0], v[1], v[2], v[3]
	x0, x1, x2, x3 = min(x0, v[4]), min(x1, v[5]), min(x2, v[6]), min(x3, v[7])
	x0, x1, x2, x3 = min(x0, v[8]), min(x1, v[9]), min(x2, v[10]), min(x3, v[11])
	x0, x1, x2, x3 = min(x0, v[12]), min(x1, v[13]), min(x2, v[14]), min(x3, v[15])
	return min(min(x0, x1), min(x2, x3))
}

// memory returns the bytes of the buffers.
func (m *merger) memory() int64 {
	n := 4 * (cap(m.ids) + cap(m.next) + cap(m.prev))
	for _, l := range m.levels {
		n += 8 * cap(l)
	}
	return int64(n)
}

// trim drops long buffers.
func (m *merger) trim() {
	m.ids, m.next, m.prev = words.Trim(m.ids), words.Trim(m.next), words.Trim(m.prev)
	for k := range m.levels {
		m.levels[k] = words.Trim(m.levels[k])
	}
}
