package unigram

import (
	"math"
	"testing"
)

// TestParseScore compares with the bits in `tokenizers`.
func TestParseScore(t *testing.T) {
	for _, c := range []struct {
		text string
		bits uint64
	}{
		{"0", 0x0000000000000000},
		{"-0", 0x8000000000000000},
		{"-0.0", 0x8000000000000000},
		{"1", 0x3ff0000000000000},
		{"-12", 0xc028000000000000},
		{"1e5", 0x40f86a0000000000},
		{"-1.5E-3", 0xbf589374bc6a7efa},
		{"1e308", 0x7fe1ccf385ebc8a0},
		{"1e-320", 0x00000000000007e8},
		{"4.9406564584124654e-324", 0x0000000000000001},
		{"2e-400", 0x0000000000000000},
		{"1.7976931348623157e308", 0x7fefffffffffffff},
		{"123456789012345678901234567890", 0x45f8ee90ff6c373e},
		{"18446744073709551615.5", 0x43f0000000000000},
		{"18446744073709551616", 0x43f0000000000000},
		{"0.1234567890123456789012345", 0x3fbf9add3746f65f},
		{"-3.4635426998138428e+00", 0xc00bb555e0000000},
		{"1e23", 0x44b52d02c7e14af6},
		{"9007199254740993", 0x4340000000000000},
		{"0.30000000000000004", 0x3fd3333333333334},
		{"1e+22", 0x4480f0cf064dd592},
		{"-5e-22", 0xbb82e3b40a0e9b4f},
		{"1.1e-25", 0x3ac1058c87382b9d},
		{"3.3333333333333335e-200", 0x16846979bc6c7910},
		{"-11.196920155321457", 0xc02664d2b7f60ecb}, // off by one bit
		{"-11.874969232031939", 0xc027bffbf7992ab6}, // off by one bit
		{"-1.8215309381484985", 0xbffd24fd9fffffff}, // off by one bit
	} {
		got, err := ParseScore(c.text)
		if err != nil || math.Float64bits(got) != c.bits {
			t.Errorf("%s: %v (%#x), %v, want %#x", c.text, got, math.Float64bits(got), err, c.bits)
		}
	}
	for _, text := range []string{"", "x", "1e999", "--1", "1.5.2"} {
		if _, err := ParseScore(text); err == nil {
			t.Errorf("%q is a score", text)
		}
	}
}
