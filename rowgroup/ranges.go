package rowgroup

import "slices"

// A span is bytes of a shard.
type span struct{ off, n int64 }

func (s span) end() int64 { return s.off + s.n }

// mergeSpans returns the fewest spans that cover all of these and nothing else: spans that touch or overlap become one. Empty ones are
// left out.
func mergeSpans(spans []span) []span {
	all := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.n == 0 })
	slices.SortFunc(all, func(a, b span) int {
		switch {
		case a.off < b.off:
			return -1
		case a.off > b.off:
			return 1
		}
		return 0
	})
	merged := all[:0]
	for _, s := range all {
		if k := len(merged) - 1; k >= 0 && s.off <= merged[k].end() {
			merged[k].n = max(merged[k].n, s.end()-merged[k].off)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// fetched is the bytes of merged spans.
type fetched struct {
	spans []span // sorted, apart
	bytes [][]byte
}

// slice returns the bytes of a span that lies within one of the merged ones.
func (f *fetched) slice(s span) []byte {
	if s.n == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(f.spans, s.off, func(m span, off int64) int {
		if m.end() <= off {
			return -1
		}
		if m.off > off {
			return 1
		}
		return 0
	})
	lo := s.off - f.spans[i].off
	return f.bytes[i][lo : lo+s.n : lo+s.n]
}
