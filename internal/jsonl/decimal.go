package jsonl

import (
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/shardfeed/shardfeed/column"
)

const limbDigits = 19 // decimal digits that fit in 64 bits

// decimal is the form of decimals: little-endian numbers of 8, 16 or 32 bytes, or big-endian ones
// of any length.
func decimal(f *column.Field) appender {
	scale := f.Scale
	var digits []byte
	if f.Kind == column.Binary {
		return func(dst []byte, a *column.Array, i int) []byte {
			var negative bool
			digits, negative = bigEndianDigits(digits[:0], a.Data[a.Offsets[i]:a.Offsets[i+1]])
			return appendScaled(dst, digits, negative, scale)
		}
	}
	width := f.Width
	return func(dst []byte, a *column.Array, i int) []byte {
		var negative bool
		digits, negative = littleEndianDigits(digits[:0], a.Data[i*width:(i+1)*width])
		return appendScaled(dst, digits, negative, scale)
	}
}

// appendScaled appends a number without its point as a string that has scale digits behind it.
func appendScaled(dst, digits []byte, negative bool, scale int) []byte {
	dst = append(dst, '"')
	if negative {
		dst = append(dst, '-')
	}
	whole := len(digits) - scale
	if whole <= 0 {
		dst = append(dst, '0')
	} else {
		dst = append(dst, digits[:whole]...)
	}
	if scale > 0 {
		dst = append(dst, '.')
		for ; whole < 0; whole++ {
			dst = append(dst, '0')
		}
		dst = append(dst, digits[whole:]...)
	}
	return append(dst, '"')
}

// littleEndianDigits appends the decimal digits of the magnitude of a two's complement number of at
// most 32 bytes, a multiple of 8.
func littleEndianDigits(dst, v []byte) (digits []byte, negative bool) {
	if len(v) == 8 {
		n := int64(le.Uint64(v))
		if n < 0 {
			return strconv.AppendUint(dst, -uint64(n), 10), true
		}
		return strconv.AppendUint(dst, uint64(n), 10), false
	}
	var limbs [4]uint64
	for i := range len(v) / 8 {
		limbs[i] = le.Uint64(v[8*i:])
	}
	n := limbs[:len(v)/8]
	negative = n[len(n)-1]>>63 != 0
	if negative {
		negate(n)
	}
	return appendLimbs(dst, n), negative
}

func negate(n []uint64) {
	carry := uint64(1)
	for i := range n {
		n[i], carry = bits.Add64(^n[i], 0, carry)
	}
}

// appendLimbs appends the number, least significant limb first, in decimal. It overwrites n.
func appendLimbs(dst []byte, n []uint64) []byte {
	start := len(dst)
	for {
		for len(n) > 0 && n[len(n)-1] == 0 {
			n = n[:len(n)-1]
		}
		if len(n) <= 1 {
			break
		}
		var rest uint64
		for i := len(n) - 1; i >= 0; i-- {
			n[i], rest = bits.Div64(rest, n[i], 1e19)
		}
		for range limbDigits { // backwards: the digits are turned round below
			dst = append(dst, byte('0'+rest%10))
			rest /= 10
		}
	}
	var top uint64
	if len(n) == 1 {
		top = n[0]
	}
	for top > 0 || len(dst) == start {
		dst = append(dst, byte('0'+top%10))
		top /= 10
	}
	slices.Reverse(dst[start:])
	return dst
}

// bigEndianDigits appends the decimal digits of the magnitude of a big-endian two's complement
// number of any length; zero has no digits.
func bigEndianDigits(dst, v []byte) (digits []byte, negative bool) {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]>>7 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	negative = n.Sign() < 0
	return n.Abs(n).Append(dst, 10), negative
}
