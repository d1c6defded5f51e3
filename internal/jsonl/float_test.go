package jsonl

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/half"
)

func TestFloats(t *testing.T) {
	cases := []struct {
		value float64
		want  string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-2.5, "-2.5"},
		{0.1, "0.1"},
		{1e-4, "0.0001"},
		{1e-5, "1e-5"},
		{-1.5e-10, "-1.5e-10"},
		{1e15, "1000000000000000.0"},
		{1e16, "1e16"},
		{123456789012345680000, "1.2345678901234568e20"},
		{math.MaxFloat64, "1.7976931348623157e308"},
		{math.SmallestNonzeroFloat64, "5e-324"},
		{math.NaN(), `"NaN"`},
		{math.Inf(1), `"Infinity"`},
		{math.Inf(-1), `"-Infinity"`},
	}
	for _, c := range cases {
		got := value(fixed(&column.Field{Type: column.TypeFloat64}, u64(math.Float64bits(c.value))))
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.value, got, c.want)
		}
	}
}

func TestFloat32(t *testing.T) {
	cases := []struct {
		value float32
		want  string
	}{
		{0.1, "0.1"}, // and not 0.10000000149011612
		{16777216, "16777216.0"},
		{3.4028235e38, "3.4028235e38"},
		{1e-45, "1e-45"},
		{float32(math.Inf(-1)), `"-Infinity"`},
	}
	for _, c := range cases {
		got := value(fixed(&column.Field{Type: column.TypeFloat32}, u32(math.Float32bits(c.value))))
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.value, got, c.want)
		}
	}
}

// All halves read back, and none has a shorter decimal: every one of fewer digits in the interval
// between its neighbours is tried.
func TestFloat16IsShortest(t *testing.T) {
	for bits := range 1 << 16 {
		text := string(appendFloat16(nil, uint16(bits)))
		if strings.HasPrefix(text, `"`) {
			if bits>>10&0x1f != 0x1f {
				t.Fatalf("%#x: %s", bits, text)
			}
			continue
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || half.Of(f) != uint16(bits) {
			t.Fatalf("%#x: %s reads back as %#x, %v", bits, text, half.Of(f), err)
		}
		if bits < 1<<15 && bits > 0 && hasShorter(float64(half.Value(uint16(bits))), uint16(bits), significant(text)) {
			t.Errorf("%#x: %s is not the shortest", bits, text)
		}
	}
}

// hasShorter tells whether a decimal of fewer digits next to f rounds to the same half.
func hasShorter(f float64, bits uint16, digits int) bool {
	for fewer := range digits - 1 {
		exponent := int(math.Floor(math.Log10(f))) - fewer
		step := math.Pow(10, float64(exponent))
		below := math.Floor(f / step)
		for _, n := range []float64{below, below + 1} {
			near, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'f', 0, 64)+"e"+strconv.Itoa(exponent), 64)
			if half.Of(near) == bits {
				return true
			}
		}
	}
	return false
}

// significant counts the digits of a number's shortest form.
func significant(text string) int {
	mantissa, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), "e")
	mantissa = strings.TrimSuffix(mantissa, ".0")
	if strings.Contains(mantissa, ".") {
		return len(strings.TrimLeft(strings.Replace(mantissa, ".", "", 1), "0"))
	}
	return len(strings.TrimRight(mantissa, "0"))
}

func TestFloat16Values(t *testing.T) {
	cases := []struct {
		bits uint16
		want string
	}{
		{0x0000, "0.0"},
		{0x8000, "-0.0"},
		{0x3c00, "1.0"},
		{0x4ce4, "19.56"},   // 19.5625: of two equally near decimals the even one
		{0x2400, "0.01563"}, // 0.015625: the even one, 0.01562, is another half
		{0x2e66, "0.1"},
		{0x7bff, "65500.0"},
		{0x0001, "6e-8"},
		{0x0400, "6.104e-5"},
		{0x7c00, `"Infinity"`},
		{0xfc00, `"-Infinity"`},
		{0x7e01, `"NaN"`},
	}
	for _, c := range cases {
		if got := value(fixed(&column.Field{Type: column.TypeFloat16}, u16(c.bits))); got != c.want {
			t.Errorf("%#x: got %s, want %s", c.bits, got, c.want)
		}
	}
}
