package bpe

import "github.com/shardfeed/shardfeed/tokenize/internal/words"

// A heapMerger merges any number of symbols.
type heapMerger struct {
	heap []uint64 // value << 32 | place, the lowest first
	next []int32  // the place of the next symbol
	prev []int32
	last lastMerge

	scratch *words.Scratch
}

// A lastMerge is the pair that was joined last, and its value.
type lastMerge struct{ left, right, value uint32 }

// noSymbol is a symbol that no pair has.
const noSymbol = maxID + 1

// merge merges ids in place and returns how many are left. made has the token of each value; if it
// is nil, values are tokens. values is a buffer of the same length.
func (h *heapMerger) merge(t *pairs, made []uint32, ids, values []uint32) int {
	h.start(t, ids, values)
	for len(h.heap) > 0 {
		top := h.pop()
		i, value := int(uint32(top)), uint32(top>>32)
		if values[i] != value {
			continue // a symbol of the pair is another one now
		}
		j := int(h.next[i])
		h.last = lastMerge{left: ids[i], right: ids[j], value: value}
		ids[i] = value
		if made != nil {
			ids[i] = made[value]
		}
		values[i], values[j] = noValue, noValue
		after := int(h.next[j])
		h.next[i] = int32(after)
		if after < len(ids) {
			h.prev[after] = int32(i)
			h.pair(t, ids, values, i, after)
		}
		if before := int(h.prev[i]); before >= 0 {
			h.pair(t, ids, values, before, i)
		}
	}
	n := 0
	for i := 0; i < len(ids); i = int(h.next[i]) {
		ids[n] = ids[i]
		n++
	}
	return n
}

// start makes the heap of all pairs.
func (h *heapMerger) start(t *pairs, ids, values []uint32) {
	n := len(ids)
	h.heap = words.Grow(h.scratch, h.heap[:0], n)
	h.next, h.prev = words.Grow(h.scratch, h.next[:0], n), words.Grow(h.scratch, h.prev[:0], n)
	for i := range ids {
		h.next = append(h.next, int32(i+1))
		h.prev = append(h.prev, int32(i-1))
		values[i] = noValue
		if i+1 < len(ids) {
			values[i] = t.value(ids[i], ids[i+1])
		}
		if values[i] != noValue {
			h.heap = append(h.heap, uint64(values[i])<<32|uint64(i))
		}
	}
	for i := len(h.heap)/2 - 1; i >= 0; i-- {
		h.down(i, h.heap[i])
	}
}

// pair sets the value of the pair at i and j.
func (h *heapMerger) pair(t *pairs, ids, values []uint32, i, j int) {
	if values[i] = t.value(ids[i], ids[j]); values[i] == noValue {
		return
	}
	x := uint64(values[i])<<32 | uint64(i)
	h.heap = append(words.Grow(h.scratch, h.heap, 1), x)
	k := len(h.heap) - 1
	for up := (k - 1) / 2; k > 0 && h.heap[up] > x; up = (k - 1) / 2 {
		h.heap[k] = h.heap[up]
		k = up
	}
	h.heap[k] = x
}

func (h *heapMerger) pop() uint64 {
	top, last := h.heap[0], len(h.heap)-1
	x := h.heap[last]
	if h.heap = h.heap[:last]; last > 0 {
		h.down(0, x)
	}
	return top
}

// down puts x at i or below.
func (h *heapMerger) down(i int, x uint64) {
	for n := len(h.heap); ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.heap[child+1] < h.heap[child] {
			child++
		}
		if x <= h.heap[child] {
			break
		}
		h.heap[i] = h.heap[child]
		i = child
	}
	h.heap[i] = x
}

// trim drops long buffers.
func (h *heapMerger) trim() {
	h.heap, h.next, h.prev = words.Trim(h.heap), words.Trim(h.next), words.Trim(h.prev)
}

func (h *heapMerger) memory() int64 { return int64(8*cap(h.heap) + 4*cap(h.next) + 4*cap(h.prev)) }
