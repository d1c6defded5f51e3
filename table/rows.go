package table

import (
	"iter"
	"math/bits"
)

// Rows is a set of the row numbers of a file, of a bit for each number up to the largest. The zero
// Rows is empty.
type Rows struct {
	words []uint64
	n     int64
}

// Add adds the rows from lo to hi - 1, and returns how many of them were missing.
func (r *Rows) Add(lo, hi int64) (added int64) {
	if lo >= hi {
		return 0
	}
	if need := (hi + 63) / 64; need > int64(len(r.words)) {
		r.words = append(r.words, make([]uint64, need-int64(len(r.words)))...)
	}
	for lo < hi {
		end := min(hi, lo|63+1)
		mask := ^uint64(0) << (lo & 63)
		if end&63 != 0 {
			mask &= 1<<(end&63) - 1
		}
		added += int64(bits.OnesCount64(mask &^ r.words[lo/64]))
		r.words[lo/64] |= mask
		lo = end
	}
	r.n += added
	return added
}

// Len is the number of rows.
func (r *Rows) Len() int64 { return r.n }

// Bytes is the memory of the set.
func (r *Rows) Bytes() int64 { return int64(cap(r.words)) * 8 }

// End is a number above the largest row, by at most 64; 0 for the empty set.
func (r *Rows) End() int64 { return int64(len(r.words)) * 64 }

// Has reports whether a row is in the set.
func (r *Rows) Has(row int64) bool {
	return row/64 < int64(len(r.words)) && r.words[row/64]>>(row&63)&1 == 1
}

// Word returns the rows from first to first + 63, the first one in the lowest bit. first may be any
// row.
func (r *Rows) Word(first int64) uint64 {
	at := func(i int64) uint64 {
		if i < int64(len(r.words)) {
			return r.words[i]
		}
		return 0
	}
	i, shift := first/64, first&63
	if shift == 0 {
		return at(i)
	}
	return at(i)>>shift | at(i+1)<<(64-shift)
}

// Runs are the longest runs of consecutive rows [lo, hi), ascending.
func (r *Rows) Runs() iter.Seq2[int64, int64] {
	return func(yield func(lo, hi int64) bool) {
		for at := r.next(0, 0); at < r.End(); {
			hi := r.next(at, ^uint64(0))
			if !yield(at, hi) {
				return
			}
			at = r.next(hi, 0)
		}
	}
}

// next returns the first number from row on that is in the set, or End. With flip of all ones it
// looks for a number that is missing.
func (r *Rows) next(row int64, flip uint64) int64 {
	for i := row / 64; i < int64(len(r.words)); i++ {
		w := r.words[i] ^ flip
		if i == row/64 {
			w &= ^uint64(0) << (row & 63)
		}
		if w != 0 {
			return i*64 + int64(bits.TrailingZeros64(w))
		}
	}
	return max(row, r.End())
}
