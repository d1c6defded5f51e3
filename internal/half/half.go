// Package half converts numbers to 16-bit floats and back: IEEE 754's binary16 (float16) and the
// upper half of a float32 (bfloat16). All conversions round once, to nearest, ties to even. Numbers
// beyond the range become infinite, and NaN stays NaN.
package half

import "math"

// Bits of the positive infinities. A value whose bits without the sign are greater is NaN.
const (
	Infinity      = 0x7c00 // of float16
	BrainInfinity = 0x7f80 // of bfloat16
)

// Of returns the float16 nearest to x. NaN is 0x7e00.
func Of(x float64) uint16 {
	sign, a := uint16(math.Float64bits(x)>>48&0x8000), math.Abs(x)
	switch {
	case x != x:
		return 0x7e00
	case a >= 65520: // halfway from the largest float16 to 65536
		return sign | Infinity
	case a < 0x1p-14: // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	fraction, exponent := math.Frexp(a)
	return sign | uint16(int(math.RoundToEven(fraction*2048))-1024+(exponent+14)<<10)
}

// Of32 returns the float16 nearest to x. NaN keeps its sign.
func Of32(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7e00
	case b >= 0x477ff000: // 65520
		return sign | Infinity
	case b < 0x38800000: // below 2^-14: a multiple of 2^-24, which the sum with 0.5 rounds to
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

// Value returns a float16 as float32, which is exact.
func Value(h uint16) float32 {
	sign, b := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case b >= Infinity:
		return math.Float32frombits(sign | 0x7f800000 | b<<13&0x7fffff)
	case b < 0x400: // subnormal
		return math.Float32frombits(sign | math.Float32bits(float32(b)*0x1p-24))
	}
	return math.Float32frombits(sign | (b<<13 + 0x38000000))
}

// Brain returns the bfloat16 nearest to x. NaN keeps its sign.
func Brain(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 { // NaN
		return uint16(b>>16)&0x8000 | 0x7fc0
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
