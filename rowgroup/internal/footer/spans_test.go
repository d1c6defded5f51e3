package footer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestMergeSpans(t *testing.T) {
	type pairs [][2]int64
	spans := func(all pairs) (out []shard.Span) {
		for _, p := range all {
			out = append(out, shard.Span{Off: p[0], N: p[1]})
		}
		return out
	}
	for _, c := range []struct{ in, want pairs }{
		{nil, nil},
		{pairs{{5, 0}, {9, 0}}, nil},
		{pairs{{10, 5}, {0, 5}}, pairs{{0, 5}, {10, 5}}},
		{pairs{{10, 5}, {0, 10}}, pairs{{0, 15}}},
		{pairs{{0, 10}, {2, 3}, {8, 4}, {13, 1}}, pairs{{0, 12}, {13, 1}}},
		{pairs{{4, 4}, {0, 0}, {4, 4}}, pairs{{4, 4}}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if got := MergeSpans(spans(c.in)); !slices.Equal(got, spans(c.want)) {
				t.Errorf("%v becomes %v, want %v", c.in, got, c.want)
			}
		})
	}
}
