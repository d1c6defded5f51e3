package rowgroup

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/internal/parquet"
)

// hybridBits encodes levels of one bit as writers do: runs of eight or more as such, what is
// between packed by eights, each group a run of its own or together with its neighbours.
func hybridBits(levels []byte, together bool) (b []byte) {
	var groups []byte
	flush := func() {
		if len(groups) > 0 {
			b = append(binary.AppendUvarint(b, uint64(len(groups))<<1|1), groups...)
			groups = nil
		}
	}
	for len(levels) > 0 {
		n := 1
		for n < len(levels) && levels[n] == levels[0] {
			n++
		}
		if n >= 8 {
			flush()
			b = append(binary.AppendUvarint(b, uint64(n)<<1), levels[0])
			levels = levels[n:]
			continue
		}
		group := byte(0)
		k := min(8, len(levels))
		for i, l := range levels[:k] {
			group |= l << i
		}
		groups, levels = append(groups, group), levels[k:]
		if !together {
			flush()
		}
	}
	flush()
	return b
}

func TestStarts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, length := range []int{1, 2, 7, 8, 9, 15, 16, 17, 64, 100, 128, 129, 1000} {
		for breaks := range 4 {
			var levels []byte
			var want []uint32
			for i := range 60 {
				n := length
				if breaks > 0 && r.IntN(5*breaks) == 0 || i == 0 && breaks == 2 {
					n = 1 + r.IntN(2*length)
				}
				want = append(want, uint32(5+len(levels)))
				levels = append(levels, 0)
				for range n - 1 {
					levels = append(levels, 1)
				}
			}
			for _, together := range []bool{true, false} {
				s := listShape{starts: make([]uint32, 0, 61), limit: 60}
				l := parquet.LevelRun{Src: hybridBits(levels, together), N: len(levels), Max: 1}
				if err := s.appendStarts(&l, 5); err != nil || !slices.Equal(s.starts, want) {
					t.Errorf("lists of %d, %d breaks: got %v, %v, want %v", length, breaks, s.starts, err, want)
				}
				s = listShape{starts: make([]uint32, 0, 61), limit: 59}
				if err := s.appendStarts(&l, 5); err == nil {
					t.Errorf("lists of %d, %d breaks: one row too many is taken", length, breaks)
				}
				l.Src = l.Src[:len(l.Src)-1]
				s.limit = 60
				if err := s.appendStarts(&l, 5); err == nil {
					t.Errorf("lists of %d, %d breaks: half a run is taken", length, breaks)
				}
			}
		}
	}
}
