package cut

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/internal/racetest"
	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// rounds is the number of random texts for each pattern.
var rounds = func() int {
	if racetest.Enabled {
		return 50
	}
	return 1000
}()

// A reference matches the alternatives of a regular expression in their order.
type reference []*regexp.Regexp

// newReference compiles the alternatives with package regexp. \s is Unicode's there, and the one
// lookahead is a nil expression.
func newReference(expression string) (r reference) {
	const space = `\t\n\v\f\r \x{85}\p{Z}`
	for _, s := range topAlternatives(expression) {
		if s == `\s+(?!\S)` {
			r = append(r, nil)
			continue
		}
		s = strings.NewReplacer(`?+`, `?`, `++`, `+`, `*+`, `*`, `3}+`, `3}`).Replace(s) // possessive
		s = strings.ReplaceAll(s, `[^\s`, `[^`+space)
		s = strings.ReplaceAll(s, `\s`, `[`+space+`]`)
		r = append(r, regexp.MustCompile(`^(?:`+s+`)`))
	}
	return r
}

// topAlternatives splits an expression at each | outside of parentheses and brackets.
func topAlternatives(s string) (all []string) {
	depth, start, class := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '[' && !class:
			class = true
		case c == ']' && class:
			class = false
		case class:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			all = append(all, s[start:i])
			start = i + 1
		}
	}
	return append(all, s[start:])
}

var whiteSpace = regexp.MustCompile(`^[\t\n\v\f\r \x{85}\p{Z}]+`)

// match returns the length of the match at the start of text, 0 if there is none.
func (r reference) match(text string) int {
	for _, e := range r {
		if e != nil {
			if n := len(e.FindString(text)); n > 0 {
				return n
			}
			continue
		}
		n := len(whiteSpace.FindString(text))
		if n > 0 && n < len(text) { // one character less is followed by white space
			_, size := utf8.DecodeLastRuneInString(text[:n])
			n -= size
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// words cuts a text; what lies between two matches is a word.
func (r reference) words(text string) (all []string) {
	gap := 0
	for p := 0; p < len(text); {
		n := r.match(text[p:])
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[p:])
			p += n
			continue
		}
		if gap < p {
			all = append(all, text[gap:p])
		}
		all = append(all, text[p:p+n])
		p += n
		gap = p
	}
	if gap < len(text) {
		all = append(all, text[gap:])
	}
	return all
}

var alphabet = []string{
	"a", "b", "s", "t", "re", "ve", "ll", "A", "Z", "RE", "ſ", "é", "É", "ǅ", "ʰ", "中", "あ", "ー", "ア", "한", "\u0301", "\u0903",
	"1", "22", "½", "٣", "Ⅷ", "〇", " ", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "'", "'", "’", ".", "/", "-", "…", "$", "€", "😀",
	"\u200d", "\ue000", "\x00", "lower", "CamelCase", "don't", "don'T",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(30) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// cutAll returns the words of a text, k at a time.
func cutAll(c Cutter, text string, k int) (all []string) {
	t := NewText(char.Of(char.Pad(nil, []byte(text))))
	ends := make([]uint32, k)
	for p := 0; p < len(text); {
		n, next := c.Cut(&t, p, len(text), ends)
		for _, end := range ends[:n] {
			all = append(all, text[p:end])
			p = int(end)
		}
		if n == 0 || p != next {
			return append(all, "no progress")
		}
	}
	return all
}

// TestPatterns compares each pattern with package regexp.
func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for expression, p := range known {
		want := newReference(expression)
		for range rounds {
			text := randomText(r)
			words := want.words(text)
			if got := cutAll(p.Cutter, text, 1+r.IntN(5)); !slices.Equal(got, words) {
				t.Errorf("%s cuts %q into %q, want %q", expression, text, got, words)
				break
			}
		}
	}
}

// TestNamed compares with the expressions that tiktoken has.
func TestNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for name, expression := range map[string]string{
		"r50k_base":   `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`,
		"cl100k_base": `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`,
	} {
		c, _ := Named(name)
		want := newReference(expression)
		for range rounds {
			text := randomText(r)
			if got, words := cutAll(c, text, 3), want.words(text); !slices.Equal(got, words) {
				t.Fatalf("%s cuts %q into %q, want %q", name, text, got, words)
			}
		}
	}
}

// TestHan: Kimi's pattern is o200k's, with words of Han characters first.
func TestHan(t *testing.T) {
	c, _ := Named("kimi")
	for text, want := range map[string][]string{
		"中文English混合":       {"中文", "English", "混合"},
		"北京市 Pascal":        {"北京市", " Pascal"},
		" 中a中":              {" ", "中", "a", "中"},
		"1〇〇〇〇":             {"1〇〇", "〇〇"},
		"〇12345":            {"〇", "123", "45"},
		".⺀中\n":             {".⺀", "中", "\n"},
		"XY中":               {"XY", "中"},
		"Xあ中\u0301b's it's": {"Xあ", "中", "\u0301b's", " it's"},
		"./\n/":             {"./\n", "/"},
	} {
		if got := cutAll(c, text, 2); !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, want %q", text, got, want)
		}
	}
	for _, name := range Names() {
		if c, ok := Named(name); !ok || c == nil {
			t.Errorf("%s is no pattern", name)
		}
	}
}

// TestDigits: words of numeric characters.
func TestDigits(t *testing.T) {
	for _, c := range []struct {
		individual bool
		want       []string
	}{{true, []string{"a", "1", "2", "½", " b", "Ⅷ"}}, {false, []string{"a", "12½", " b", "Ⅷ"}}} {
		if got := cutAll(Digits{Individual: c.individual}, "a12½ bⅧ", 2); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestCovers: a pattern that covers all text leaves nothing between two matches.
func TestCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for expression, p := range known {
		covers := true
		re := newReference(expression)
		for range rounds {
			for text := randomText(r); text != "" && covers; {
				n := re.match(text)
				covers = n > 0
				text = text[n:]
			}
		}
		if covers != p.Covers {
			t.Errorf("%s covers all text: %v, want %v", expression, covers, p.Covers)
		}
	}
}

// TestSequence compares cutters in turn with one regular expression after the other.
func TestSequence(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	refs := map[string]reference{}
	for _, expressions := range [][]string{
		{`\p{N}{1,3}`, cjk, deepSeek},
		{`\p{N}`, gpt2},
		{`\p{N}+`, cl100k(`\p{N}{1,3}`)},
	} {
		var cutters []Cutter
		for _, e := range expressions {
			refs[e] = newReference(e)
			cutters = append(cutters, known[e].Cutter)
		}
		c, err := Sequence(cutters)
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			text := randomText(r)
			want := []string{text}
			for _, e := range expressions {
				var next []string
				for _, piece := range want {
					next = append(next, refs[e].words(piece)...)
				}
				want = next
			}
			if got := cutAll(c, text, 1+r.IntN(5)); !slices.Equal(got, want) {
				t.Fatalf("%q cut %q into %q, want %q", expressions, text, got, want)
			}
		}
	}
	if _, err := Sequence(make([]Cutter, maxNested+2)); err == nil {
		t.Error("a sequence that is too long has no error")
	}
}

func TestBefore(t *testing.T) {
	for _, c := range []struct {
		mark string
		text string
		want []string
	}{
		{" ", "  ab c ", []string{" ", " ab", " c", " "}},
		{"▁", "a▁▁b", []string{"a", "▁", "▁b"}},
		{" ", "a", []string{"a"}},
	} {
		if got := cutAll(Before{Mark: c.mark}, c.text, 2); !slices.Equal(got, c.want) {
			t.Errorf("%q is %q, want %q", c.text, got, c.want)
		}
	}
}
