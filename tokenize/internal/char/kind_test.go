package char

import (
	"testing"
	"unicode"
)

// TestKinds compares with package unicode, which is older: a code point that it has must have the
// same kind here.
func TestKinds(t *testing.T) {
	Of(nil)
	differ := 0
	for r := range rune(codePoints) {
		got := ASCII(byte(r & 0xff))
		if r >= 0x80 {
			got = KindOf(uint32(r))
		}
		if want := standardKind(r); got != want && want != Other {
			differ++
			if differ < 10 {
				t.Errorf("%U has the kind %b, package unicode %b", r, got, want)
			}
		}
	}
	if got := KindOf(0x1c8a); got != Lower {
		t.Errorf("U+1C8A of Unicode 16 has the kind %b, want %b", got, Lower)
	}
}

func standardKind(r rune) Kinds {
	switch {
	case r == '\r' || r == '\n':
		return Line
	case unicode.Is(unicode.White_Space, r):
		return Space
	case unicode.Is(unicode.Ll, r):
		return Lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return Upper
	case unicode.Is(unicode.L, r):
		return Letter
	case unicode.Is(unicode.M, r):
		return Mark
	case unicode.Is(unicode.N, r):
		return Number
	case unicode.Is(unicode.P, r):
		return Punct
	case unicode.Is(unicode.S, r):
		return Symbol
	}
	return Other
}

func TestView(t *testing.T) {
	const s = "aé€😀\n"
	v := Of(Pad(nil, []byte(s)))
	for p, want := range s {
		if r, size := v.Rune(p); rune(r) != want || size != len(string(want)) {
			t.Errorf("character at %d is %U of %d bytes, want %U", p, r, size, want)
		}
	}
	if k, size := v.Kind(len(s), len(s)); k != 0 || size != 0 {
		t.Errorf("kind at the end is %b of %d bytes, want none", k, size)
	}
	if got, want := v.Load64(0), uint64(0x9f_f0_ac_82_e2_a9_c3_61); got != want {
		t.Errorf("the first 8 bytes are %#x, want %#x", got, want)
	}
}
