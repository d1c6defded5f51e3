package resize

import (
	"math"
	"slices"
)

// A Filter is how samples are weighted.
type Filter uint8

// The filters; Bicubic is Keys' with a = -0.5.
const (
	Bilinear Filter = iota
	Bicubic
)

// A Span is one direction of a resize.
type Span struct {
	In0, In1 float64 // the samples to scale; may start and end within one
	Lo, Hi   int     // the samples that there are: the filter looks at no others
	Out      int     // what it is scaled to, in pixels
	From, To int     // the outputs that are wanted
}

// Whole scales n samples from first on to all of out pixels.
func Whole(first, n, out int) Span {
	return Span{In0: float64(first), In1: float64(first + n), Lo: first, Hi: first + n, Out: out, To: out}
}

// Needs is the samples that the wanted outputs are made of.
func (s Span) Needs(f Filter) (lo, hi int) {
	if s.To <= s.From {
		return s.Lo, s.Lo
	}
	scale, support := s.scale(f)
	lo, _ = s.taps(s.From, scale, support)
	_, hi = s.taps(s.To-1, scale, support)
	return lo, hi
}

// scale is samples per output, and how far the filter reaches.
func (s Span) scale(f Filter) (scale, support float64) {
	scale = (s.In1 - s.In0) / float64(s.Out)
	support = 1
	if f == Bicubic {
		support = 2
	}
	return scale, support * max(scale, 1)
}

// taps are the samples of one output: Pillow's precompute_coeffs (src/libImaging/Resample.c).
func (s Span) taps(out int, scale, support float64) (lo, hi int) {
	center := s.center(out, scale)
	lo = max(s.Lo, int(math.Floor(center-support+0.5)))
	hi = min(s.Hi, int(math.Floor(center+support+0.5)))
	lo = min(lo, s.Hi-1)
	return lo, max(hi, lo+1)
}

func (s Span) center(out int, scale float64) float64 { return s.In0 + (float64(out)+0.5)*scale }

// Bits of weights. Bilinear sums stay below 255 x 8192 + 4096 < 1<<21, bicubic sums within a third
// of 1<<32 around 0: overshoot is less than half of the range.
const (
	bilinearBits = 13
	bicubicBits  = 21
)

// An axis is a Span's weights.
type axis struct {
	span   Span
	filter Filter
	first  []int32  // the first sample of each wanted output
	end    []int32  // after its last weight
	weight []uint64 // of all outputs, one after another; negative ones in two's complement
	even   int      // outputs all have that many weights, zeros among them; 0: as many as they need
	taps   int      // of the output that has most
	shift  uint
	exact  []float64
	spare  []uint64 // weight before or after pad
}

// set computes weights of some bits, unless they are there. With even set, outputs of few taps get
// zeros, so that all have as many.
func (a *axis) set(s Span, f Filter, bits uint, even bool) {
	if a.span == s && a.filter == f && a.shift == bits && len(a.first) > 0 {
		return
	}
	a.span, a.filter, a.shift, a.taps, a.even = s, f, bits, 0, 0
	a.first, a.end, a.weight = a.first[:0], a.end[:0], a.weight[:0]
	scale, support := s.scale(f)
	for out := s.From; out < s.To; out++ {
		lo, hi := s.taps(out, scale, support)
		a.first = append(a.first, int32(lo))
		a.add(float64(lo)-s.center(out, scale)+0.5, hi-lo, max(scale, 1))
		a.end = append(a.end, int32(len(a.weight)))
		a.taps = max(a.taps, hi-lo)
	}
	if n := a.taps + a.taps/7; even && n < len(across) { // seven taps have no kernel
		a.pad(max(2, n))
	}
}

// pad gives all outputs n weights. The last outputs start earlier, since no samples follow them.
func (a *axis) pad(n int) {
	lo, hi := a.span.Needs(a.filter)
	if hi-lo < n {
		return
	}
	a.even = n
	short, from := a.weight, 0
	a.weight = slices.Grow(a.spare[:0], n*len(a.first))[:n*len(a.first)]
	a.spare = short
	clear(a.weight)
	for i, first := range a.first {
		w := short[from:a.end[i]]
		from = int(a.end[i])
		at := min(int(first), hi-n)
		copy(a.weight[i*n+int(first)-at:], w)
		a.first[i], a.end[i] = int32(at), int32((i+1)*n)
	}
}

// add appends the n weights of an output whose first sample is at a distance from its center.
// What rounding leaves goes to the largest, so that their sum is one.
func (a *axis) add(distance float64, n int, scale float64) {
	a.exact = a.exact[:0]
	total := 0.0
	for j := range n {
		w := a.filter.at((distance + float64(j)) / scale)
		a.exact = append(a.exact, w)
		total += w
	}
	if total == 0 {
		a.exact[0], total = 1, 1
	}
	one := int64(1) << a.shift
	rest, largest, at := one, int64(math.MinInt64), len(a.weight)
	for _, w := range a.exact {
		v := int64(math.Round(w / total * float64(one)))
		rest -= v
		if v > largest {
			largest, at = v, len(a.weight)
		}
		a.weight = append(a.weight, uint64(v))
	}
	a.weight[at] += uint64(rest)
}

// at is the filter's value at a distance.
func (f Filter) at(x float64) float64 {
	x = math.Abs(x)
	if f == Bilinear {
		return max(0, 1-x)
	}
	const a = -0.5
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return (((x-5)*x+8)*x - 4) * a
	}
	return 0
}
