package parquet

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
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
				l := LevelRun{Src: hybridBits(levels, together), N: len(levels), Max: 1}
				if got, err := l.AppendStarts(make([]uint32, 0, 61), 60, 5); err != nil || !slices.Equal(got, want) {
					t.Errorf("lists of %d, %d breaks: got %v, %v, want %v", length, breaks, got, err, want)
				}
				if _, err := l.AppendStarts(make([]uint32, 0, 61), 59, 5); err == nil {
					t.Errorf("lists of %d, %d breaks: one row too many is taken", length, breaks)
				}
				l.Src = l.Src[:len(l.Src)-1]
				if _, err := l.AppendStarts(make([]uint32, 0, 61), 60, 5); err == nil {
					t.Errorf("lists of %d, %d breaks: half a run is taken", length, breaks)
				}
			}
		}
	}
}

// FuzzStarts compares starts of rows with the expanded levels.
func FuzzStarts(f *testing.F) {
	f.Add([]byte{3, 0b101}, uint16(8))
	f.Add([]byte{200, 1, 1, 5, 0xff, 0x0f}, uint16(110))
	f.Add(hybridBits([]byte("\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"), false), uint16(32))
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		l := LevelRun{Src: src, N: int(n), Max: 1}
		dst := make([]byte, l.N)
		if err := l.Expand(dst); err != nil {
			return
		}
		var want []uint32
		for i, v := range dst {
			if v == 0 {
				want = append(want, uint32(7+i))
			}
		}
		starts, err := l.AppendStarts(make([]uint32, 0, l.N+1), l.N, 7)
		if err != nil || !slices.Equal(starts, want) {
			t.Errorf("starts %v, %v; want %v", starts, err, want)
		}
	})
}
