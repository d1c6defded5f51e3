// Package random draws the random numbers of images: streams of SplitMix64 (Steele, Lea, Flood,
// 2014), as the documentation of package images promises them.
package random

import "math/bits"

// A Stream is one of an image's streams of random numbers.
type Stream struct{ state uint64 }

// New starts the stream of a number. Streams of different numbers are independent.
func New(seed, number uint64) *Stream { return &Stream{mix(seed + number)} }

func (s *Stream) next() uint64 {
	v := mix(s.state)
	s.state += golden
	return v
}

// Uniform draws a number from an interval.
func (s *Stream) Uniform(from, to float64) float64 {
	return from + float64((to-from)*(float64(s.next()>>11)/(1<<53))) // the conversion keeps it from being fused
}

// Below draws a whole number from 0 to n-1.
func (s *Stream) Below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// Jitter draws the order and the factors of brightness, contrast, saturation and hue, as
// ColorJitter.make_params of torchvision: the order first, by Fisher and Yates from the end. A span
// of {0, 0} skips its step: its factor changes nothing.
func (s *Stream) Jitter(spans [4][2]float64) (order [4]int, factor [4]float64) {
	order = [4]int{0, 1, 2, 3}
	for i := 3; i > 0; i-- {
		k := s.Below(i + 1)
		order[i], order[k] = order[k], order[i]
	}
	for i, span := range spans {
		u := s.Uniform(span[0], span[1]) // drawn even if unused, so that the steps stay independent
		switch {
		case span != [2]float64{}:
			factor[i] = u
		case i < 3:
			factor[i] = 1
		}
	}
	return order, factor
}

const golden = 0x9e3779b97f4a7c15

func mix(s uint64) uint64 {
	s += golden
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}
