package unigram

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// reference divides a word as the definition says, with all places in memory.
func reference(c Config, word string) (ids []int32) {
	of := map[string]int{}
	lowest := c.Scores[0]
	for i, token := range c.Tokens {
		of[token] = i
		lowest = min(lowest, c.Scores[i])
	}
	type node struct {
		sum   float64
		start int
		id    int
	}
	best := make([]node, len(word)+1)
	for i := range best {
		best[i].start = -1
	}
	offer := func(p, start, id int, sum float64) {
		if best[p].start < 0 || sum > best[p].sum {
			best[p] = node{sum, start, id}
		}
	}
	for p, r := range word {
		size := utf8.RuneLen(r)
		for q := p + 1; q <= len(word); q++ {
			if id, ok := of[word[p:q]]; ok {
				offer(q, p, id, best[p].sum+c.Scores[id])
			}
		}
		if _, ok := of[word[p:p+size]]; !ok {
			offer(p+size, p, c.Unknown, best[p].sum+lowest-unknownPenalty)
		}
	}
	var parts []string
	unknown := ""
	for p := len(word); p > 0; p = best[p].start {
		part := word[best[p].start:p]
		if best[p].id == c.Unknown {
			unknown = part + unknown
			continue
		}
		if unknown != "" {
			parts, unknown = append(parts, unknown), ""
		}
		parts = append(parts, part)
	}
	if unknown != "" {
		parts = append(parts, unknown)
	}
	slices.Reverse(parts)
	for _, part := range parts {
		id, ok := of[part]
		if !ok {
			id = c.Unknown
		}
		ids = append(ids, int32(id))
	}
	return ids
}

// TestReference compares random words over random vocabularies, whose sums are often equal.
func TestReference(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	word := func(letters string, most int) string {
		var b strings.Builder
		all := []rune(letters)
		for range 1 + r.IntN(most) {
			b.WriteRune(all[r.IntN(len(all))])
		}
		return b.String()
	}
	for range 40 {
		c := Config{Tokens: []string{"<unk>"}, Scores: []float64{0}}
		for range 1 + r.IntN(80) {
			if token := word("abcé한", 5); !slices.Contains(c.Tokens, token) {
				c.Tokens, c.Scores = append(c.Tokens, token), append(c.Scores, -float64(1+r.IntN(3)))
			}
		}
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		s := m.newSpeller(nil)
		for range 30 {
			text := word("abcdé한<", 200)
			if got, want := s.Spell(nil, []byte(text)), reference(c, text); !slices.Equal(got, want) {
				t.Fatalf("%q with %q: %v, want %v", text, c.Tokens, got, want)
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	c := Config{Tokens: []string{"<unk>", "a", "<0xC3>", "<0xA9>", "<0x62>", "éb"}, Scores: []float64{0, -1, -2, -2, -2, -50}}
	for _, test := range []struct {
		text     string
		fallback bool
		want     []int32
	}{
		{"", true, nil},
		{"aéa", true, []int32{1, 2, 3, 1}},
		{"aéa", false, []int32{1, 0, 1}},
		{"bébé", false, []int32{0, 5, 0}},
		{"éé", false, []int32{0}},
		{"éé", true, []int32{2, 3, 2, 3}},
		{"éc", true, []int32{0}}, // c has no byte
		{"a<unk>a", true, []int32{1, 0, 1}},
		{"c<unk>c", true, []int32{0}},
	} {
		c.ByteFallback = test.fallback
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.newSpeller(nil).Spell(nil, []byte(test.text)); !slices.Equal(got, test.want) {
			t.Errorf("%q with fallback %v: %v, want %v", test.text, test.fallback, got, test.want)
		}
	}
}

// TestLong: a long word without a place to divide it, then memory is given back.
func TestLong(t *testing.T) {
	m, err := New(Config{Tokens: []string{"<unk>", "a", "aa", "aaa"}, Scores: []float64{0, -1, -1, -1}})
	if err != nil {
		t.Fatal(err)
	}
	s := m.newSpeller(nil)
	const n = 1 << 18
	if got := s.Spell(nil, []byte(strings.Repeat("a", 3*n))); len(got) != n {
		t.Errorf("%d tokens, want %d", len(got), n)
	}
	if s.Trim(); s.Memory() > words.Kept {
		t.Errorf("the speller keeps %d bytes", s.Memory())
	}
	// Words that are divided everywhere need no memory for their length.
	s.Spell(nil, []byte(strings.Repeat("x", n)))
	if cap(s.last) > 1<<10 {
		t.Errorf("%d places of a word that is divided everywhere", cap(s.last))
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"empty":      {},
		"scores":     {Tokens: []string{"a"}},
		"unknown":    {Tokens: []string{"a"}, Scores: []float64{1}, Unknown: 1},
		"negative":   {Tokens: []string{"a"}, Scores: []float64{1}, Unknown: -1},
		"long token": {Tokens: []string{strings.Repeat("a", maxToken+1)}, Scores: []float64{1}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzSpell(f *testing.F) {
	f.Add("a\nb\nab\né", "abéabab", true)
	f.Add("<0x61>\n<0xC3>", "aé", true)
	f.Fuzz(func(t *testing.T, vocabulary, text string, fallback bool) {
		c := Config{Tokens: []string{"<unk>"}, Scores: []float64{0}, ByteFallback: fallback}
		for i, token := range strings.Split(vocabulary, "\n") {
			if token == "" || !utf8.ValidString(token) || slices.Contains(c.Tokens, token) {
				continue
			}
			c.Tokens, c.Scores = append(c.Tokens, token), append(c.Scores, -float64(i%3))
		}
		m, err := New(c)
		if err != nil || !utf8.ValidString(text) || len(text) > 1000 {
			return
		}
		got := m.newSpeller(nil).Spell(nil, []byte(text))
		if len(got) > len(text) {
			t.Errorf("%d tokens of %d bytes", len(got), len(text))
		}
		if want := reference(c, text); !fallback && !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
