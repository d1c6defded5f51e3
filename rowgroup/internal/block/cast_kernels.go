package block

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/half"
	"github.com/shardfeed/shardfeed/rule"
)

// A kernel converts n adjacent values of src to every stride-th place of dst, counted in values. It
// reports whether one of them did not fit; the value that it wrote for that one is undefined.
type kernel func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, tmp *CastScratch) (misfit bool)

// A gatherKernel converts the values of picks, which it reads from their blocks.
type gatherKernel func(dst unsafe.Pointer, stride int, srcs []source, picks []Pick) (misfit bool)

// tileRows is how many values are gathered and converted at once where these are two steps: they
// stay in the first-level cache.
const tileRows = 256

// CastScratch holds the values between the steps of a kernel, of which there are three at most:
// stored values become floats, which are scaled, which become 16 bits.
type CastScratch struct {
	scaled [tileRows]float32
	read   [tileRows]float64 // or float32
	whole  [tileRows]int64
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// word is the bytes of an integer of any sign.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

// toFloat rounds to the nearest, as any conversion does. Only a float64 that becomes an infinite
// float32 does not fit.
func toFloat[S number, D float32 | float64](dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
	step := uintptr(stride) * unsafe.Sizeof(D(0))
	for i, x := range unsafe.Slice((*S)(src), n) {
		*(*D)(unsafe.Add(dst, uintptr(i)*step)) = D(x)
	}
	return false
}

// gatherFloats is toFloat, or narrow, of the values of picks.
func gatherFloats[S number, D float32 | float64](dst unsafe.Pointer, stride int, srcs []source, picks []Pick) (misfit bool) {
	step := uintptr(stride) * unsafe.Sizeof(D(0))
	for i, p := range picks {
		s := &srcs[p>>32]
		x := *(*S)(s.at(uintptr(uint32(p)), unsafe.Sizeof(S(0))))
		y := D(x)
		if y-y != 0 && x-x == 0 {
			misfit = true
		}
		*(*D)(unsafe.Add(dst, uintptr(i)*step)) = y
	}
	return misfit
}

// gatherScaled is scaled of the values of picks.
func gatherScaled[S number, D float32 | float64](mean, deviation float64) gatherKernel {
	return func(dst unsafe.Pointer, stride int, srcs []source, picks []Pick) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(D(0))
		for i, p := range picks {
			s := &srcs[p>>32]
			x := *(*S)(s.at(uintptr(uint32(p)), unsafe.Sizeof(S(0))))
			y := D((float64(x) - mean) / deviation)
			if y-y != 0 && x-x == 0 {
				misfit = true
			}
			*(*D)(unsafe.Add(dst, uintptr(i)*step)) = y
		}
		return misfit
	}
}

// narrow is toFloat of float64 to float32.
func narrow(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
	for i, x := range unsafe.Slice((*float64)(src), n) {
		y := float32(x)
		if y-y != 0 && x-x == 0 { // y is infinite, x is not
			misfit = true
		}
		*(*float32)(unsafe.Add(dst, uintptr(i)*uintptr(stride)*4)) = y
	}
	return misfit
}

// scaled computes in float64 and rounds once.
func scaled[S number, D float32 | float64](mean, deviation float64) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(D(0))
		for i, x := range unsafe.Slice((*S)(src), n) {
			y := D((float64(x) - mean) / deviation)
			if y-y != 0 && x-x == 0 {
				misfit = true
			}
			*(*D)(unsafe.Add(dst, uintptr(i)*step)) = y
		}
		return misfit
	}
}

// toInt takes integers from lo to hi.
func toInt[S number, W word](lo, hi int64) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(W(0))
		for i, x := range unsafe.Slice((*S)(src), n) {
			y := int64(x)
			if y < lo || y > hi {
				misfit = true
			}
			*(*W)(unsafe.Add(dst, uintptr(i)*step)) = W(y)
		}
		return misfit
	}
}

// truncated takes floats of which the part before the point is from lo on and below end. NaN does
// not fit.
func truncated[S float32 | float64, W word](lo, end float64) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(W(0))
		for i, x := range unsafe.Slice((*S)(src), n) {
			y := math.Trunc(float64(x))
			if !(y >= lo && y < end) {
				misfit, y = true, 0
			}
			v := uint64(int64(y))
			if y >= 1<<63 {
				v = uint64(y)
			}
			*(*W)(unsafe.Add(dst, uintptr(i)*step)) = W(v)
		}
		return misfit
	}
}

// hashed returns the kernel that hashes numbers modulo buckets.
func hashed[S number, W word](buckets uint64) kernel {
	float := isFloat[S]()
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(W(0))
		for i, x := range unsafe.Slice((*S)(src), n) {
			u := uint64(int64(x))
			if float {
				u = rule.HashedFloat(float64(x))
			}
			*(*W)(unsafe.Add(dst, uintptr(i)*step)) = W(rule.HashWord(0, u) % buckets)
		}
		return false
	}
}

// hashedBytes is hashed for values of width bytes.
func hashedBytes[W word](buckets uint64, width int) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		step := uintptr(stride) * unsafe.Sizeof(W(0))
		for i := range n {
			value := unsafe.Slice((*byte)(unsafe.Add(src, i*width)), width)
			*(*W)(unsafe.Add(dst, uintptr(i)*step)) = W(rule.Hash(0, value) % buckets)
		}
		return false
	}
}

func isFloat[S number]() bool {
	switch any(S(0)).(type) {
	case float32, float64:
		return true
	}
	return false
}

// via converts to float32 and then on to values of width bytes.
func via(first, second kernel, from, width int) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, tmp *CastScratch) (misfit bool) {
		for i := 0; i < n; i += tileRows {
			m := min(tileRows, n-i)
			wrong := first(unsafe.Pointer(&tmp.scaled), 1, unsafe.Add(src, i*from), m, tmp)
			wrong = second(unsafe.Add(dst, i*stride*width), stride, unsafe.Pointer(&tmp.scaled), m, tmp) || wrong
			misfit = misfit || wrong
		}
		return misfit
	}
}

// reading is via for what is stored in another way than as numbers of Go: read makes floats of n
// values.
func reading(read func(dst *[tileRows]float64, src unsafe.Pointer, n int), on kernel, from, width int) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, tmp *CastScratch) (misfit bool) {
		for i := 0; i < n; i += tileRows {
			m := min(tileRows, n-i)
			read(&tmp.read, unsafe.Add(src, i*from), m)
			wrong := on(unsafe.Add(dst, i*stride*width), stride, unsafe.Pointer(&tmp.read), m, tmp)
			misfit = misfit || wrong
		}
		return misfit
	}
}

// shrink writes float32 as 16 bits, by a function that rounds one.
func shrink(round func(float32) uint16, infinite uint16) kernel {
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		for i, x := range unsafe.Slice((*float32)(src), n) {
			h := round(x)
			if h&0x7fff == infinite && x-x == 0 {
				misfit = true
			}
			*(*uint16)(unsafe.Add(dst, uintptr(i)*uintptr(stride)*2)) = h
		}
		return misfit
	}
}

// readHalves reads float16 as float32.
func readHalves(dst *[tileRows]float64, src unsafe.Pointer, n int) {
	out := unsafe.Slice((*float32)(unsafe.Pointer(dst)), n)
	for i, h := range unsafe.Slice((*uint16)(src), n) {
		out[i] = half.Value(h)
	}
}

// readDecimals reads decimals of width bytes as float64.
func readDecimals(width, scale int) func(dst *[tileRows]float64, src unsafe.Pointer, n int) {
	unit := math.Pow10(scale)
	return func(dst *[tileRows]float64, src unsafe.Pointer, n int) {
		for i := range n {
			dst[i] = decimalFloat(unsafe.Slice((*byte)(unsafe.Add(src, i*width)), width)) / unit
		}
	}
}

// decimalFloat is a little-endian two's complement integer of 8, 16 or 32 bytes.
func decimalFloat(b []byte) float64 {
	if len(b) == 8 {
		return float64(int64(binary.LittleEndian.Uint64(b)))
	}
	negative := b[len(b)-1]&0x80 != 0
	sum, carry := 0.0, uint64(1)
	for i, unit := 0, 1.0; i < len(b); i, unit = i+8, unit*0x1p64 {
		w := binary.LittleEndian.Uint64(b[i:])
		if negative { // its absolute value
			w = ^w + carry
			if w != 0 {
				carry = 0
			}
		}
		sum += float64(w) * unit
	}
	if negative {
		return -sum
	}
	return sum
}
