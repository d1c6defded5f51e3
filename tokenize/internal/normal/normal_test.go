package normal

import (
	"runtime"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// apply returns the normal form of text.
func apply(n Normalizer, text string) string {
	if out, changed := n.Append([]byte("before "), []byte(text)); changed {
		return string(out[len("before "):])
	}
	return text
}

func TestNormalizers(t *testing.T) {
	bert := chain(NewBert(Bert{CleanText: true, ChineseChars: true, StripAccents: true, Lowercase: true}))
	cased := chain(NewBert(Bert{CleanText: true, ChineseChars: true}))
	spaces, _ := ReplaceExpression(" {2,}", "▁")
	white, _ := ReplaceExpression(`\s+`, " ")
	for _, c := range []struct {
		name       string
		n          Normalizer
		text, want string
	}{
		{"NFC", NFC(), "", ""},
		{"NFC", NFC(), "plain, é and 한글", "plain, é and 한글"},
		{"NFC", NFC(), "xe\u0301y", "xéy"},
		{"NFC", NFC(), "e\u0316\u0301", "é\u0316"},
		{"NFC", NFC(), "e\u0301\u0316", "é\u0316"},
		{"NFC", NFC(), "a\u0300\u0300", "à\u0300"},
		{"NFC", NFC(), "\u0301e\u0301", "\u0301é"},
		{"NFC", NFC(), "\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"},
		{"NFC", NFC(), "\u1100\u1161\u11a7", "가\u11a7"},
		{"NFC", NFC(), "\u0958", "\u0915\u093c"}, // never composed
		{"NFC", NFC(), "Å", "Å"},
		{"NFC", NFC(), "s\u0323\u0307 s\u0307\u0323", "ṩ ṩ"},
		{"NFC", NFC(), "\U00011f34\u0301", "\U00011f34\u0301"},
		{"NFD", NFD(), "ṩ한é", "s\u0323\u0307\u1112\u1161\u11abe\u0301"},
		{"NFD", NFD(), "a\u0301\u0323", "a\u0323\u0301"},
		{"NFD", NFD(), "ﬁ", "ﬁ"},
		{"NFKC", NFKC(), "ﬁ Ａ①ｶﾞ", "fi A1ガ"},
		{"NFKC", NFKC(), "ﷺ", "صلى الله عليه وسلم"},
		{"NFKD", NFKD(), "ﬃ é ㌀", "ffi e\u0301 アハ\u309aート"},
		{"Lowercase", Lowercase(), "AbÇ ΑΣ İ", "abç ασ i̇"}, // a final sigma has no lower case of its own
		{"StripAccents", StripAccents(), "e\u0301é", "eé"},
		{"Bert", bert, "Ünïcödé\t\x00中文\u200bA", "unicode  中  文 a"},
		{"BertCased", cased, "É\r\n\ufffd中", "É   中 "},
		{"Strip", Strip{Left: true, Right: true}, " \u3000a b\n", "a b"},
		{"Strip", Strip{Right: true}, " a ", " a"},
		{"Strip", Strip{Left: true, Right: true}, " \n ", ""},
		{"Prepend", Prepend{"▁"}, "a", "▁a"},
		{"Prepend", Prepend{"▁"}, "", ""},
		{"Replace", Replace{" ", "▁"}, " a  b", "▁a▁▁b"},
		{"Replace", Replace{"aa", "b"}, "aaaaa", "bba"},
		{"Replace", Replace{"", "b"}, "aa", "aa"},
		{"ReplaceRun", spaces, "a b  c   d  ", "a b▁c▁d▁"},
		{"ReplaceRun", white, "\na\t\u2003b", " a b"},
	} {
		if got := apply(c.n, c.text); got != c.want {
			t.Errorf("%s of %+q: %+q, want %+q", c.name, c.text, got, c.want)
		}
	}
}

// chain applies normalizers in turn.
type chain []Normalizer

func (c chain) Append(dst, text []byte) (out []byte, changed bool) {
	for _, n := range c {
		text = []byte(apply(n, string(text)))
	}
	return append(dst, text...), true
}

func (c chain) Needs([]byte) (size, beside int) { return 0, 0 }

// TestOldUnicode: the normal forms are older than Unicode 11, so marks of Unicode 14 stay where they are.
func TestOldUnicode(t *testing.T) {
	if text := "a\u0301\u1acc\u0323"; apply(NFD(), text) != text {
		t.Errorf("%+q became %+q", text, apply(NFD(), text))
	}
}

// TestMarks: a million marks are sorted, and those of one class keep their order.
func TestMarks(t *testing.T) {
	const n = 1 << 17
	below, above := strings.Repeat("\u0323\u0316", n/2), strings.Repeat("\u0301\u0302", n/2)
	if got, want := apply(NFD(), "q"+above+below), "q"+below+above; got != want {
		t.Error("the marks are not in the order of their classes")
	}
	if got, want := apply(NFC(), "q"+strings.Repeat("\u0301\u0316", n)), "q"+strings.Repeat("\u0316", n)+strings.Repeat("\u0301", n); got != want {
		t.Error("alternating marks are not in the order of their classes")
	}
}

// TestFormsAgree: composing after decomposing gives the composed form, for each code point in a
// context of marks.
func TestFormsAgree(t *testing.T) {
	step := rune(1)
	if racetest.Enabled {
		step = 11
	}
	for r := rune(0); r < codePoints; r += step {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		text := "\u0327a" + string(r) + "\u0301\u0327b"
		if a, b := apply(NFC(), text), apply(NFC(), apply(NFD(), text)); a != b {
			t.Fatalf("%+q: NFC gives %+q, after NFD %+q", text, a, b)
		}
		if a, b := apply(NFKC(), text), apply(NFC(), apply(NFKD(), text)); a != b {
			t.Fatalf("%+q: NFKC gives %+q, NFC of NFKD %+q", text, a, b)
		}
	}
}

func TestUnknownExpression(t *testing.T) {
	if _, known := ReplaceExpression("a|b", ""); known {
		t.Error("a|b is known")
	}
}

// TestManyMarks: marks are put in order and composed in memory in proportion to their number.
func TestManyMarks(t *testing.T) {
	const n = 1 << 18
	text := []byte("a" + strings.Repeat("\u0301\u0316", n))
	for _, c := range []struct {
		form *Form
		want string
	}{
		{NFC(), "á" + strings.Repeat("\u0316", n) + strings.Repeat("\u0301", n-1)},
		{NFD(), "a" + strings.Repeat("\u0316", n) + strings.Repeat("\u0301", n)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, _ := c.form.Append(nil, text)
		runtime.ReadMemStats(&after)
		if string(out) != c.want {
			t.Errorf("the marks are in another order")
		}
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(24*len(text)); got > limit {
			t.Errorf("%d bytes were allocated for %d, want at most %d", got, len(text), limit)
		}
	}
}
