package resize

import "math"

// Nearest appends the sample of each wanted output to o: torch's at out x scale, or with exact
// Pillow's and torch's nearest-exact, at (out + 1/2) x scale. Both are torch's float32 arithmetic
// (UpSample.h, nearest_neighbor_compute_source_index), which shows at samples between two.
func (s Span) Nearest(exact bool, o []int32) []int32 {
	first, n := int32(s.In0), int32(s.In1)-int32(s.In0)
	scale, shift := float32(n)/float32(s.Out), float32(0)
	if exact {
		shift = 0.5
	}
	for out := s.From; out < s.To; out++ {
		at := int32(math.Floor(float64(float32((float32(out) + shift) * scale))))
		o = append(o, first+min(at, n-1))
	}
	return o
}
