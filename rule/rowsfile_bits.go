package rule

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
)

// A bitset is the rows of a row group that are kept, in the smallest of its forms.
type bitset struct {
	form form
	body []byte
	kept int64
}

// The forms. Runs are maximal: a run of kept rows ends where a row is left out, or with the group.
type form byte

const (
	formNone   form = iota // no row; no body
	formAll                // all rows; no body
	formBitmap             // a bit a row, least significant first, ending in zeros up to a whole byte
	formKept               // of each row that is kept, how many are left out between it and the one before, as uvarints
	formLeft               // the same of the rows that are left out
	formRuns               // lengths of runs, as uvarints: left out (0 when the first row is kept), kept, left out, .., kept
)

// newBitset of the rows whose bits are set. Bits beyond the rows are cleared.
func newBitset(set []uint64, rows int64) bitset {
	if rows%64 > 0 {
		set[rows/64] &= 1<<(rows%64) - 1
	}
	size := [...]int64{formBitmap: (rows + 7) / 8, formKept: 0, formLeft: 0, formRuns: 0}
	var kept, end, run int64 // rows that are kept, the end of the last run, and its length
	for lo, hi := range runsOf(set, rows) {
		n := hi - lo
		kept += n
		size[formKept] += uvarintLen(lo-end) + n - 1
		size[formRuns] += uvarintLen(lo-end) + uvarintLen(n)
		if lo > end {
			size[formLeft] += uvarintLen(run) + lo - end - 1
		}
		end, run = hi, n
	}
	if end < rows {
		size[formLeft] += uvarintLen(run) + rows - end - 1
	}
	switch kept {
	case 0:
		return bitset{form: formNone}
	case rows:
		return bitset{form: formAll, kept: rows}
	}
	best := formBitmap
	for f := formKept; f <= formRuns; f++ {
		if size[f] < size[best] {
			best = f
		}
	}
	return bitset{form: best, body: encode(best, set, rows, size[best]), kept: kept}
}

// encode writes the body of a form.
func encode(f form, set []uint64, rows, size int64) []byte {
	body := make([]byte, 0, size+8)
	if f == formBitmap {
		for _, w := range set {
			body = binary.LittleEndian.AppendUint64(body, w)
		}
		return body[:size]
	}
	var end, run int64
	for lo, hi := range runsOf(set, rows) {
		switch f {
		case formKept:
			body = append(binary.AppendUvarint(body, uint64(lo-end)), make([]byte, hi-lo-1)...)
		case formRuns:
			body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(lo-end)), uint64(hi-lo))
		case formLeft:
			body = appendLeft(body, run, lo-end)
		}
		end, run = hi, hi-lo
	}
	if f == formLeft {
		body = appendLeft(body, run, rows-end)
	}
	return body
}

// appendLeft adds n rows that are left out after a run of kept ones.
func appendLeft(body []byte, run, n int64) []byte {
	if n == 0 {
		return body
	}
	return append(binary.AppendUvarint(body, uint64(run)), make([]byte, n-1)...)
}

// runsOf are the runs [lo, hi) of bits that are set.
func runsOf(set []uint64, rows int64) iter.Seq2[int64, int64] {
	return func(yield func(lo, hi int64) bool) {
		for lo := nextBit(set, 0, rows, 0); lo < rows; {
			hi := nextBit(set, lo, rows, ^uint64(0))
			if !yield(lo, hi) {
				return
			}
			lo = nextBit(set, hi, rows, 0)
		}
	}
}

// nextBit is the first bit from at on that is set after exclusive or with flip, at most rows.
func nextBit(set []uint64, at, rows int64, flip uint64) int64 {
	if at >= rows {
		return rows
	}
	i := at / 64
	for w := (set[i] ^ flip) >> (at % 64) << (at % 64); ; w = set[i] ^ flip {
		if w != 0 {
			return min(rows, i*64+int64(bits.TrailingZeros64(w)))
		}
		if i++; i == int64(len(set)) {
			return rows
		}
	}
}

func uvarintLen(n int64) int64 { return int64(bits.Len64(uint64(n)|1)+6) / 7 }

// appendTo adds the bytes of a group: its rows, form and body.
func (b bitset) appendTo(buf []byte, rows int64) []byte {
	buf = append(binary.AppendUvarint(buf, uint64(rows)), byte(b.form))
	if b.form == formNone || b.form == formAll {
		return buf
	}
	return append(binary.AppendUvarint(buf, uint64(len(b.body))), b.body...)
}

var errForm = errors.New("rows beyond the end of their row group")

// check counts the rows to keep, and refuses a body for another number of rows.
func (b *bitset) check(rows int64) error {
	switch b.form {
	case formNone:
		return nil
	case formAll:
		b.kept = rows
		return nil
	case formBitmap:
		return b.checkBitmap(rows)
	case formKept, formLeft:
		return b.checkGaps(rows)
	case formRuns:
		return b.checkRuns(rows)
	}
	return fmt.Errorf("form %d is not known", b.form)
}

func (b *bitset) checkBitmap(rows int64) error {
	if int64(len(b.body)) != (rows+7)/8 {
		return fmt.Errorf("a bitmap of %d bytes for %d rows", len(b.body), rows)
	}
	if last := rows % 8; last > 0 && b.body[len(b.body)-1]>>last != 0 {
		return errForm
	}
	for _, c := range b.body {
		b.kept += int64(bits.OnesCount8(c))
	}
	return nil
}

func (b *bitset) checkGaps(rows int64) error {
	at := int64(0) // after the last row that the body names
	n := int64(0)
	for body := b.body; len(body) > 0; n++ {
		gap, used := binary.Uvarint(body)
		if used <= 0 || gap >= uint64(rows-at) {
			return errForm
		}
		at += int64(gap) + 1
		body = body[used:]
	}
	if b.kept = n; b.form == formLeft {
		b.kept = rows - n
	}
	return nil
}

func (b *bitset) checkRuns(rows int64) error {
	at := int64(0)
	for i, body := 0, b.body; len(body) > 0 || i%2 == 1; i++ {
		n, used := binary.Uvarint(body)
		if used <= 0 || n > uint64(rows-at) || n == 0 && i > 0 {
			return errForm
		}
		if at += int64(n); i%2 == 1 {
			b.kept += int64(n)
		}
		body = body[used:]
	}
	return nil
}

// runs are the runs [lo, hi) of rows that are kept; neighbours may touch. The body was checked.
func (b bitset) runs(rows int64) iter.Seq2[int64, int64] {
	return func(yield func(lo, hi int64) bool) {
		at := int64(0)
		for body := b.body; len(body) > 0; {
			n, used := binary.Uvarint(body)
			body = body[used:]
			lo, hi := at+int64(n), at+int64(n)+1 // of formKept
			switch b.form {
			case formLeft:
				lo, at = at, hi
				hi--
			case formRuns:
				n, used = binary.Uvarint(body)
				body = body[used:]
				hi = lo + int64(n)
				at = hi
			default:
				at = hi
			}
			if lo < hi && !yield(lo, hi) {
				return
			}
		}
		if b.form == formLeft && at < rows {
			yield(at, rows)
		}
	}
}

// and clears the bits of rows [lo, hi) that are not in the list, in a group of rows rows. Row lo is
// bit 0.
func (b bitset) and(rows, lo, hi int64, keep []uint64) {
	switch b.form {
	case formAll:
		return
	case formBitmap:
		for i := range int64(wordsFor(int(hi - lo))) {
			keep[i] &= bitsAt(b.body, lo+64*i)
		}
		return
	}
	at := lo // the bits before are done
	for from, to := range b.runs(rows) {
		if from >= hi {
			break
		}
		if from > at {
			clearBits(keep, at-lo, from-lo)
		}
		at = max(at, to)
	}
	if at < hi {
		clearBits(keep, at-lo, hi-lo)
	}
}

// bitsAt is 64 bits of a bitmap from bit at on; those beyond its end are 0.
func bitsAt(body []byte, at int64) uint64 {
	var b [9]byte
	copy(b[:], body[at/8:])
	w := binary.LittleEndian.Uint64(b[:]) >> (at % 8)
	if at%8 > 0 {
		w |= uint64(b[8]) << (64 - at%8)
	}
	return w
}

func clearBits(set []uint64, from, to int64) {
	for i := from / 64; i*64 < to; i++ {
		mask := ^uint64(0)
		if i == from/64 {
			mask <<= from % 64
		}
		if to < (i+1)*64 {
			mask &= 1<<(to%64) - 1
		}
		set[i] &^= mask
	}
}

// count is how many of rows [lo, hi) are kept.
func (b bitset) count(rows, lo, hi int64) int64 {
	switch {
	case lo == 0 && hi == rows:
		return b.kept
	case b.form == formAll:
		return hi - lo
	case b.form == formBitmap:
		var n int64
		for at := lo; at < hi; at += 64 {
			w := bitsAt(b.body, at)
			if hi-at < 64 {
				w &= 1<<(hi-at) - 1
			}
			n += int64(bits.OnesCount64(w))
		}
		return n
	}
	var n int64
	for from, to := range b.runs(rows) {
		if from >= hi {
			break
		}
		n += max(0, min(to, hi)-max(from, lo))
	}
	return n
}
