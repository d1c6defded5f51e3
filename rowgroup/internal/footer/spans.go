package footer

import (
	"cmp"
	"slices"

	"github.com/shardfeed/shardfeed/shard"
)

// MergeSpans returns the fewest spans that cover all of these and nothing else: spans that touch or
// overlap become one. Empty ones are left out.
func MergeSpans(spans []shard.Span) []shard.Span {
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

// MergePieces is MergeSpans of pieces.
func MergePieces(pieces []Piece) []shard.Span {
	all := make([]shard.Span, len(pieces))
	for i, p := range pieces {
		all[i] = p.Span
	}
	return MergeSpans(all)
}
