package parquet

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrDelta is in errors about pages in a delta encoding.
var ErrDelta = errors.New("corrupt delta encoding")

// deltaHead is the header of a DELTA_BINARY_PACKED run.
type deltaHead struct {
	minis    int // miniblocks in a block
	perMini  int // values in a miniblock
	total    uint64
	first    int64
	consumed int
}

func readDeltaHead(src []byte) (h deltaHead, err error) {
	r := thriftReader{b: src}
	block, minis := r.uvarint(), r.uvarint()
	h.total, h.first = r.uvarint(), r.int()
	h.consumed = r.pos
	const most = 1 << 20 // of values in a block; writers use 128 to 1024
	if r.err != nil || minis == 0 || block == 0 || block > most || block%minis != 0 || block/minis%8 != 0 {
		return h, fmt.Errorf("%w: %d values in %d miniblocks", ErrDelta, block, minis)
	}
	h.minis, h.perMini = int(minis), int(block/minis)
	return h, nil
}

// DecodeDelta reads len(dst) values of the DELTA_BINARY_PACKED encoding, which take used bytes.
func DecodeDelta[T uint32 | uint64](dst []T, src []byte) (used int, err error) {
	h, err := readDeltaHead(src)
	if err != nil {
		return 0, err
	}
	if h.total != uint64(len(dst)) {
		return 0, fmt.Errorf("%w: %d values, %d expected", ErrDelta, h.total, len(dst))
	}
	src = src[:len(src):cap(src)]
	at := h.consumed
	if len(dst) == 0 {
		return at, nil
	}
	last := T(h.first)
	dst[0] = last
	for dst = dst[1:]; len(dst) > 0; {
		r := thriftReader{b: src, pos: at}
		least := T(r.int())
		if r.err != nil || h.minis > len(src)-r.pos {
			return 0, fmt.Errorf("%w: %w", ErrDelta, ErrShort)
		}
		widths := src[r.pos : r.pos+h.minis]
		at = r.pos + h.minis
		for _, w := range widths {
			if len(dst) == 0 {
				break // miniblocks that are not needed have no bytes
			}
			n := min(h.perMini, len(dst))
			size := h.perMini * int(w) / 8
			if w > 64 || (n*int(w)+7)/8 > len(src)-at {
				return 0, fmt.Errorf("%w: a miniblock of %d bits a value: %w", ErrDelta, w, ErrShort)
			}
			if uintptr(w) > 8*unsafe.Sizeof(last) {
				unpackLow(dst[:n], src[at:], uint(w))
			} else {
				Unpack(dst[:n], src[at:], uint(w))
			}
			for i, v := range dst[:n] {
				last += least + v
				dst[i] = last
			}
			dst = dst[n:]
			at = min(at+size, len(src))
		}
	}
	return at, nil
}

// unpackLow is Unpack where values have more bits than T: it keeps the low ones. DuckDB takes
// the differences of 32-bit integers in 64 bits and so writes 33 of them; sums wrap around, so the
// values come out right.
func unpackLow[T uint32 | uint64](dst []T, src []byte, width uint) {
	var wide [32]uint64
	for len(dst) > 0 {
		n := min(len(dst), len(wide))
		Unpack(wide[:n], src, width)
		for i, v := range wide[:n] {
			dst[i] = T(v)
		}
		if dst = dst[n:]; len(dst) > 0 {
			src = src[4*width:] // 32 values are whole bytes
		}
	}
}

// DeltaBytes walks the values of the DELTA_BYTE_ARRAY encoding: the number of bytes that each
// shares with the previous value, and the bytes that follow.
type DeltaBytes struct {
	Prefixes, Suffixes []uint32
	B                  []byte // suffixes, concatenated
}

// ReadDeltaBytes reads n values; lengths has room for two numbers of each.
func ReadDeltaBytes(lengths []uint32, src []byte, n int) (d DeltaBytes, err error) {
	d.Prefixes, d.Suffixes = lengths[:n], lengths[n:2*n]
	used, err := DecodeDelta(d.Prefixes, src)
	if err != nil {
		return d, err
	}
	src = src[used:]
	if used, err = DecodeDelta(d.Suffixes, src); err != nil {
		return d, err
	}
	d.B = src[used:]
	return d, nil
}

// Sizes checks the lengths and returns the bytes of all values, and of a text in which they share
// bytes. It fails if a prefix is longer than the previous value, or the suffixes than the data.
func (d *DeltaBytes) Sizes() (values, shared int64, err error) {
	at := textPlace{share: true}
	suffixes := int64(0)
	for i, p := range d.Prefixes {
		if int64(p) > at.n {
			return 0, 0, fmt.Errorf("%w: a prefix of %d bytes of a value of %d", ErrDelta, p, at.n)
		}
		at.next(int64(p), int64(d.Suffixes[i]))
		values += at.n
		suffixes += int64(d.Suffixes[i])
	}
	if suffixes > int64(len(d.B)) {
		return 0, 0, fmt.Errorf("%w: values of %d bytes where %d are left", ErrDelta, suffixes, len(d.B))
	}
	return values, at.end, nil
}

// Build makes the text of the values and their views: place<<32 | length, places counted from base.
// With share, a value that is a prefix or an extension of the previous one shares its bytes, so
// that a long text that all rows repeat is stored once.
func (d *DeltaBytes) Build(text []byte, views []uint64, base uint64, share bool) {
	at := textPlace{share: share}
	for i, p := range d.Prefixes {
		before, end, k := at.begin, at.end, d.Suffixes[i]
		if at.next(int64(p), int64(k)) {
			end += int64(copy(text[end:], text[before:before+int64(p)]))
		}
		d.B = d.B[copy(text[end:], d.B[:k]):]
		views[i] = (base+uint64(at.begin))<<32 | uint64(at.n)
	}
}

// A textPlace is where a value is in a text, which ends at end.
type textPlace struct {
	begin, n, end int64
	share         bool
}

// next moves to the next value. copied reports whether its prefix has to be copied.
func (p *textPlace) next(prefix, suffix int64) (copied bool) {
	switch {
	case p.share && suffix == 0:
		p.n = prefix
		return false
	case p.share && prefix == p.n && p.begin+p.n == p.end:
		p.n, p.end = p.n+suffix, p.end+suffix
		return false
	}
	p.begin, p.n = p.end, prefix+suffix
	p.end += p.n
	return true
}
