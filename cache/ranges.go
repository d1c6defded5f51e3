package cache

import (
	"slices"

	"github.com/shardfeed/shardfeed/shard"
)

// pieces builds a list of ranges out of parts of other ranges: parts that touch, in the shard and
// in memory, become one.
type pieces struct {
	list []shard.Range
	last int // the range that the last piece is part of
}

// add appends bytes [from, to) of r, the i-th range.
func (p *pieces) add(i int, r shard.Range, from, to int64) {
	if from >= to {
		return
	}
	part := r.P[from-r.Off : to-r.Off : to-r.Off]
	if n := len(p.list); n > 0 && p.last == i && p.list[n-1].Span().End() == from {
		start := p.list[n-1].Off
		p.list[n-1].P = r.P[start-r.Off : to-r.Off : to-r.Off]
		return
	}
	p.last = i
	p.list = append(p.list, shard.Range{Off: from, P: part})
}

// without returns the parts of ranges that are outside of spans. Both must ascend.
func without(ranges []shard.Range, spans []shard.Span) []shard.Range {
	var left pieces
	first := 0
	for i, r := range ranges {
		off, end := r.Off, r.Span().End()
		for first < len(spans) && spans[first].End() <= off {
			first++
		}
		for _, s := range spans[first:] {
			if s.Off >= end {
				break
			}
			left.add(i, r, off, s.Off)
			off = max(off, min(s.End(), end))
		}
		left.add(i, r, off, end)
	}
	return left.list
}

// cover returns ranges that fill spans exactly, in the memory of ranges if they overlap, and in
// new memory between them.
func cover(spans []shard.Span, ranges []shard.Range) []shard.Range {
	var all pieces
	k := 0
	for _, s := range spans {
		off, end := s.Off, s.End()
		for k < len(ranges) && ranges[k].Span().End() <= off {
			k++
		}
		for i := k; i < len(ranges) && ranges[i].Off < end; i++ {
			if r := ranges[i]; len(r.P) > 0 {
				all.gap(off, r.Off)
				from, to := max(off, r.Off), min(end, r.Span().End())
				all.add(i, r, from, to)
				off = to
			}
		}
		all.gap(off, end)
	}
	return all.list
}

// gap appends a range with new memory.
func (p *pieces) gap(from, to int64) {
	if from < to {
		p.last = -1
		p.list = append(p.list, shard.Range{Off: from, P: make([]byte, to-from)})
	}
}

// gather copies the bytes of spans from ranges, which must contain them, to dst in order.
func gather(dst []byte, spans []shard.Span, ranges []shard.Range) {
	for _, s := range spans {
		i, _ := slices.BinarySearchFunc(ranges, s.Off, func(r shard.Range, off int64) int {
			if r.Span().End() <= off {
				return -1
			}
			return 1
		})
		for off := s.Off; off < s.End(); i++ {
			n := copy(dst[:min(int64(len(dst)), s.End()-off)], ranges[i].P[off-ranges[i].Off:])
			dst, off = dst[n:], off+int64(n)
		}
	}
}

func bytesOf(ranges []shard.Range) (n int64) {
	for _, r := range ranges {
		n += int64(len(r.P))
	}
	return n
}

func spansOf(ranges []shard.Range) []shard.Span {
	spans := make([]shard.Span, len(ranges))
	for i, r := range ranges {
		spans[i] = r.Span()
	}
	return spans
}

func spanBytes(spans []shard.Span) (n int64) {
	for _, s := range spans {
		n += s.N
	}
	return n
}

// appendSpan appends a span, joined to the last one if they touch.
func appendSpan(spans []shard.Span, s shard.Span) []shard.Span {
	if n := len(spans); n > 0 && spans[n-1].End() == s.Off {
		spans[n-1].N += s.N
		return spans
	}
	if s.N > 0 {
		spans = append(spans, s)
	}
	return spans
}
