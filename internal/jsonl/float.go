package jsonl

import (
	"bytes"
	"math"
	"strconv"

	"github.com/shardfeed/shardfeed/internal/half"
)

// appendFloat appends the shortest decimal that reads back as f in a float of the given bits. It
// has a point or an exponent, so that it reads back as a float and not as an integer (for which -0
// would be 0, and numbers beyond 2^53 would differ).
func appendFloat(dst []byte, f float64, bits int) []byte {
	if text, special := specialFloat(f); special {
		return append(dst, text...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return appendExponent(dst, f, -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, '.', '0')
	}
	return dst
}

// specialFloat is the form of the values that JSON has no number for.
func specialFloat(f float64) (text string, special bool) {
	switch {
	case f != f:
		return `"NaN"`, true
	case math.IsInf(f, 1):
		return `"Infinity"`, true
	case math.IsInf(f, -1):
		return `"-Infinity"`, true
	}
	return "", false
}

// appendExponent writes 1e-7 and 1.5e16 where strconv writes 1e-07 and 1.5e+16.
func appendExponent(dst []byte, f float64, precision, bits int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', precision, bits)
	e := start + bytes.IndexByte(dst[start:], 'e') + 1
	digits := e + 1
	if dst[digits] == '0' {
		digits++
	}
	if dst[e] == '-' {
		e++
	}
	return append(dst[:e], dst[digits:]...)
}

// appendFloat16 appends the shortest decimal that rounds to the half-precision value of these bits
// (IEEE 754-2008 binary16). No half has one of more than five digits.
func appendFloat16(dst []byte, bits uint16) []byte {
	f := float64(half.Value(bits))
	if text, special := specialFloat(f); special {
		return append(dst, text...)
	}
	if f == 0 {
		return appendFloat(dst, f, 64)
	}
	// Of two equally near decimals, only the one away from zero may be right: below a power of two,
	// the interval that rounds to the half is narrower than above.
	away := math.Nextafter(f, math.Copysign(math.Inf(1), f))
	for precision := range 5 {
		for _, candidate := range [...]float64{f, away} {
			if near := roundDecimal(candidate, precision); half.Of(near) == bits {
				return appendFloat(dst, near, 64)
			}
		}
	}
	return appendFloat(dst, f, 64)
}

// roundDecimal rounds f to precision decimal digits after the first.
func roundDecimal(f float64, precision int) float64 {
	var text [32]byte
	near, err := strconv.ParseFloat(string(strconv.AppendFloat(text[:0], f, 'e', precision, 64)), 64)
	if err != nil {
		return f
	}
	return near
}
