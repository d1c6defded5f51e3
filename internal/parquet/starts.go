package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// ErrRows is in errors about levels with more rows than the footer promises.
var ErrRows = fmt.Errorf("%w: more rows than the footer says", ErrLevels)

// AppendStarts appends the slot of each level that is 0 in levels of one bit, up to limit in all.
// The first level has slot base. Writers make two short runs for each row, so that runs are parsed
// here.
func (l *LevelRun) AppendStarts(starts []uint32, limit int, base uint32) ([]uint32, error) {
	p := startParser{src: l.Src, base: base, left: l.N, starts: starts[:min(limit, cap(starts))], count: len(starts)}
	for p.left > 0 {
		if err := p.run(); err != nil {
			return starts, err
		}
	}
	return p.starts[:p.count], nil
}

// A startParser finds the levels that are 0 in repetition levels of one bit, in RLE/bit-packed
// hybrid.
type startParser struct {
	src    []byte
	pos    int
	base   uint32 // slot of the next level
	left   int    // levels to come
	starts []uint32
	count  int // of starts

	// The start of the last list that started a run: many lists of the same bytes may follow it.
	markPos, markCount int
	markBase           uint32
	marked             bool
}

// run takes the next run, or many lists of one length.
func (p *startParser) run() error {
	start := p.pos
	h, k := uint64(0), 0
	if p.pos < len(p.src) && p.src[p.pos] < 0x80 {
		h, k = uint64(p.src[p.pos]), 1
	} else if h, k = binary.Uvarint(p.src[p.pos:]); k <= 0 {
		return fmt.Errorf("%w: %w", ErrLevels, ErrShort)
	}
	p.pos += k
	if p.pos >= len(p.src) {
		return fmt.Errorf("%w: %w", ErrLevels, ErrShort)
	}
	if h&1 == 0 {
		return p.repeated(int(min(h>>1, uint64(p.left))))
	}
	if h == 3 && p.src[p.pos] == 0xfe && p.again(start) {
		return nil
	}
	b := p.src[p.pos : p.pos+int(min(h>>1, uint64(len(p.src)-p.pos)))]
	p.pos += len(b)
	return p.packed(b, min(8*len(b), p.left))
}

func (p *startParser) repeated(n int) error {
	v := p.src[p.pos]
	p.pos++
	switch {
	case v == 0 && n > len(p.starts)-p.count:
		return ErrRows
	case v == 0:
		for i := range n {
			p.starts[p.count+i] = p.base + uint32(i)
		}
		p.count += n
	case v != 1 && n > 0:
		return fmt.Errorf("%w: level %d, the greatest is 1", ErrLevels, v)
	}
	p.base += uint32(n)
	p.left -= n
	return nil
}

// again takes lists of one length at once, and reports whether there were any. Their first runs
// have eight levels, the next of them with its header at start, and their bytes repeat.
func (p *startParser) again(start int) bool {
	period, length := start-p.markPos, p.base-p.markBase
	one := p.marked && p.count == p.markCount+1 && length >= 8
	p.markPos, p.markCount, p.markBase, p.marked = start, p.count, p.base, true
	if !one {
		return false
	}
	i := start
	for i+8 <= len(p.src) && binary.LittleEndian.Uint64(p.src[i:]) == binary.LittleEndian.Uint64(p.src[i-period:]) {
		i += 8
	}
	if i-start < period { // before the divisions, which cost more than the rest where lengths differ
		return false
	}
	n := min((i-start)/period, p.left/int(length), len(p.starts)-p.count)
	if n == 0 {
		return false
	}
	starts := p.starts[p.count : p.count+n]
	for k := range starts {
		starts[k] = p.base
		p.base += length
	}
	p.count += n
	p.left -= n * int(length)
	p.pos = start + n*period
	p.marked = false
	return true
}

// packed appends the slot of each of the first n bits of b that is 0.
func (p *startParser) packed(b []byte, n int) error {
	p.left -= n
	for n > 0 {
		zeros, k := uint64(^b[0]), 8
		if len(b) >= 8 {
			zeros, k = ^binary.LittleEndian.Uint64(b), 64
		}
		zeros &= LowBits(n)
		if bits.OnesCount64(zeros) > len(p.starts)-p.count {
			return ErrRows
		}
		for ; zeros != 0; zeros &= zeros - 1 {
			p.starts[p.count] = p.base + uint32(bits.TrailingZeros64(zeros))
			p.count++
		}
		b, n, p.base = b[k/8:], n-k, p.base+uint32(min(n, k))
	}
	return nil
}
