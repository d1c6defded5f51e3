package bpe

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

const (
	windowNew  = 224 // the fewest symbols by which a window lengthens the merged part
	windowBack = 32  // the fewest symbols that it repeats
)

// windows merges long words, a window of their symbols at a time. A window repeats the last tokens
// of the merged part, and joins it if the first token is the same again.
type windows struct {
	merger  merger
	starts  []uint64 // the set of places where tokens start
	scratch *words.Scratch
	merged  int // symbols of all windows, for tests
}

func newWindows(s *words.Scratch) windows {
	return windows{merger: merger{scratch: s}, scratch: s}
}

// merge appends the tokens of symbols to dst.
func (w *windows) merge(dst []int32, m *Model, symbols []uint32) []int32 {
	w.starts = words.Grow(w.scratch, w.starts[:0], len(symbols)/64+1)[:len(symbols)/64+1]
	clear(w.starts)
	for done, back := 0, 0; done < len(symbols); {
		from, tokens := w.lastStart(done, back)
		to := min(done+max(windowNew, back), len(symbols))
		w.merged += to - from
		w.merger.merge(&m.pairs, nil, symbols[from:to])
		if from > 0 && !w.joins(from, done) {
			back *= 2
			continue
		}
		dst = w.replace(dst[:len(dst)-tokens], m, from, to)
		done, back = to, max(windowBack, back/2)
	}
	return dst
}

// lastStart returns the last place at which a token starts and that is at least back before done,
// or 0; and the number of tokens from there on.
func (w *windows) lastStart(done, back int) (from, tokens int) {
	for from = done; from > 0 && from > done-back; tokens++ {
		from = w.before(from)
	}
	return from, tokens
}

// before returns the place of the token that ends at p.
func (w *windows) before(p int) int {
	p--
	i := p / 64
	word := w.starts[i] << (63 - p%64)
	for ; word == 0; word = w.starts[i] {
		i--
		p = i*64 + 63
	}
	return p - bits.LeadingZeros64(word)
}

// joins reports whether the first token of the merged window is the one that started at from, where
// tokens end at done.
func (w *windows) joins(from, done int) bool {
	end := from + int(w.merger.next[0])
	if end > done {
		return false
	}
	return (end == done || w.starts[end/64]>>(end%64)&1 != 0) && w.before(end) == from
}

// replace appends the tokens of the merged window, which starts at from and ends at to.
func (w *windows) replace(dst []int32, m *Model, from, to int) []int32 {
	w.starts[from/64] &= 1<<(from%64) - 1
	clear(w.starts[from/64+1 : to/64+1])
	for i := 0; i < to-from; i = int(w.merger.next[i]) {
		dst = append(dst, m.ids[w.merger.ids[i]])
		w.starts[(from+i)/64] |= 1 << ((from + i) % 64)
	}
	return dst
}

// memory returns the bytes of the buffers.
func (w *windows) memory() int64 { return w.merger.memory() + int64(8*cap(w.starts)) }

// trim drops long buffers.
func (w *windows) trim() {
	w.starts = words.Trim(w.starts)
	w.merger.trim()
}
