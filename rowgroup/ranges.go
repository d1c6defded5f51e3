package rowgroup

import (
	"cmp"
	"slices"
	"sort"

	"github.com/shardfeed/shardfeed/shard"
)

// mergeSpans returns the fewest spans that cover all of these and nothing else: spans that touch or
// overlap become one. Empty ones are left out.
func mergeSpans(spans []shard.Span) []shard.Span {
	all := slices.DeleteFunc(slices.Clone(spans), func(s shard.Span) bool { return s.N == 0 })
	slices.SortFunc(all, func(a, b shard.Span) int { return cmp.Compare(a.Off, b.Off) })
	merged := all[:0]
	for _, s := range all {
		if k := len(merged) - 1; k >= 0 && s.Off <= merged[k].End() {
			merged[k].N = max(merged[k].N, s.End()-merged[k].Off)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// A piece is bytes that a chunk needs.
type piece struct {
	shard.Span
	to   *[]byte // where they go
	dict bool    // a dictionary apart from its data pages
}

// mergePieces is mergeSpans of pieces.
func mergePieces(pieces []piece) []shard.Span {
	all := make([]shard.Span, len(pieces))
	for i, p := range pieces {
		all[i] = p.Span
	}
	return mergeSpans(all)
}

// fetched is the bytes of merged spans.
type fetched struct {
	spans []shard.Span // sorted, apart
	bytes [][]byte     // nil before they are read
}

// slice returns the bytes of a span that lies within one of the merged ones, nil before they are
// read.
func (f *fetched) slice(s shard.Span) []byte {
	i := sort.Search(len(f.spans), func(i int) bool { return f.spans[i].End() > s.Off })
	if f.bytes[i] == nil {
		return nil
	}
	lo := s.Off - f.spans[i].Off
	return f.bytes[i][lo : lo+s.N : lo+s.N]
}
