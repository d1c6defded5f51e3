package property

import (
	"testing"
	"unicode"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOf(t *testing.T) {
	for _, c := range []struct {
		r    rune
		want Set
	}{
		{'a', Ll | Word},
		{'Z', Lu | Word},
		{'7', N | Word | Numeric},
		{'_', P | Word | Punct},
		{'$', S | Punct}, // BERT's punctuation has all of ASCII's
		{'€', S},
		{' ', Space | White | BertSpace},
		{'\n', Space | White | BertSpace | Control},
		{'\u0085', Space | White | BertControl | Control},
		{'\u200b', BertControl | Control},
		{0, BertControl | Control},
		{'\ufffd', S | BertControl},
		{'ǅ', Lt | Word},
		{'ʰ', Lm | Word},
		{'가', Lo | Word},
		{'中', Lo | Han | Word | Ideograph},
		{'々', Lm | Han | Word},
		{'\u0301', M | Word | Accent | BertAccent | Joins | Extend | BetweenConsonants},
		{'½', N | Numeric},
		{0x1E5D0, Lo | Word},  // a letter since Unicode 16
		{0xE000, BertControl}, // private use
		{0x10FFFF, 0},
		{0xD800, 0},
		{-1, 0},
		{0x110000, 0},
	} {
		if got := Of(c.r); got != c.want {
			t.Errorf("%U: %b, want %b", c.r, got, c.want)
		}
	}
}

// TestLaterUnicode: package unicode is older, so a letter there is a letter here.
func TestLaterUnicode(t *testing.T) {
	for r := rune(0); r < points; r++ {
		if unicode.IsLetter(r) && Of(r)&Letter == 0 {
			t.Errorf("%U is a letter for package unicode alone", r)
		}
		if unicode.Is(unicode.Mn, r) && Of(r)&M == 0 {
			t.Errorf("%U is a mark for package unicode alone", r)
		}
	}
}

func TestClasses(t *testing.T) {
	classes := Load().Classes(func(s Set) uint8 {
		if s&Letter != 0 {
			return 7
		}
		return 0
	})
	for r := rune(0); r < points; r++ {
		if got, want := classes.Of(r) == 7, Of(r)&Letter != 0; got != want {
			t.Fatalf("%U: letter is %v, want %v", r, got, want)
		}
	}
}

// TestSize: pages that are equal are shared, so that the tables stay in a processor's cache.
func TestSize(t *testing.T) {
	if n := len(Load().pages) * pageSize; n > 60<<10 {
		t.Errorf("pages take %d bytes", n)
	}
}

func BenchmarkOf(b *testing.B) {
	t := Load()
	var all Set
	for i := range b.N {
		all |= t.Of(rune(i & 0xffff))
	}
	_ = all
}
