package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// plainMerge is byte pair encoding as it is defined: of all neighbours, join the pair of the lowest
// rank, the leftmost first.
func plainMerge(c Config, symbols []string) []int32 {
	ranks := map[[2]string]int{}
	for rank, m := range c.Merges {
		ranks[m] = rank
	}
	for {
		best, at := len(c.Merges), -1
		for i := range len(symbols) - 1 {
			if rank, ok := ranks[[2]string{symbols[i], symbols[i+1]}]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			break
		}
		symbols = slices.Replace(symbols, at, at+2, symbols[at]+symbols[at+1])
	}
	var ids []int32
	for _, s := range symbols {
		ids = append(ids, c.Vocab[s])
	}
	return ids
}

func plainWord(c Config, word string) []int32 {
	if id, ok := c.Vocab[word]; ok && c.Words {
		return []int32{id}
	}
	var symbols []string
	if c.Bytes {
		for i := range len(word) {
			symbols = append(symbols, word[i:i+1])
		}
	} else {
		for _, r := range word {
			if _, ok := c.Vocab[string(r)]; ok {
				symbols = append(symbols, string(r))
				continue
			}
			for _, b := range []byte(string(r)) {
				symbols = append(symbols, fmt.Sprintf("<0x%02X>", b))
			}
		}
	}
	return plainMerge(c, symbols)
}

// randomConfig makes merges of any tokens, in any order. Some tokens have many merges, and some are
// made by none.
func randomConfig(r *rand.Rand, bytes, whole bool) Config {
	c := Config{Vocab: map[string]int32{}, Bytes: bytes, Words: whole, Unknown: -1}
	add := func(s string) {
		if _, ok := c.Vocab[s]; !ok {
			c.Vocab[s] = int32(len(c.Vocab))
		}
	}
	var tokens []string
	if bytes {
		for b := range 256 {
			add(string([]byte{byte(b)}))
		}
		tokens = append(tokens, "a", "b", "c", " ", "é"[:1], "é"[1:], "日"[:1], "日"[1:2], "日"[2:])
	} else {
		c.ByteTokens = new([256]int32)
		for b := range 256 {
			text := fmt.Sprintf("<0x%02X>", b)
			add(text)
			c.ByteTokens[b] = c.Vocab[text]
		}
		for _, s := range []string{"a", "b", "c", " ", "é", "日"} {
			tokens = append(tokens, s)
			add(s)
		}
	}
	for range 5 + r.IntN(80) {
		m := [2]string{tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]}
		if len(m[0])+len(m[1]) > 20 {
			continue
		}
		c.Merges = append(c.Merges, m)
		tokens = append(tokens, m[0]+m[1])
		add(m[0] + m[1])
	}
	r.Shuffle(len(c.Merges), func(i, j int) { c.Merges[i], c.Merges[j] = c.Merges[j], c.Merges[i] })
	add("abcab")
	return c
}

func randomWord(r *rand.Rand) string {
	letters := []string{"a", "b", "c", "a", "b", " ", "é", "日", "x", "ö"}
	n := r.IntN(12)
	if r.IntN(8) == 0 {
		n = r.IntN(300)
	}
	s := letters[r.IntN(2)]
	for range n {
		s += letters[r.IntN(len(letters))]
	}
	return s
}

// TestMerge compares with the definition, on random vocabularies.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 120 {
		c := randomConfig(r, r.IntN(2) == 0, r.IntN(3) == 0)
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		e := m.NewEncoder(1<<10, nil)
		for range 100 {
			compareWords(t, c, e, []string{randomWord(r), randomWord(r), randomWord(r)})
		}
		if t.Failed() {
			t.Fatalf("merges are %q", c.Merges)
		}
	}
}

// TestDivider compares the tokens of a text's parts with those of the whole.
func TestDivider(t *testing.T) {
	r, parts := rand.New(rand.NewPCG(3, 4)), 0
	for range 200 {
		c := randomConfig(r, r.IntN(2) == 0, false)
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := m.Divider()
		if !ok {
			t.Fatal("words are not divided")
		}
		word := randomWord(r) + randomWord(r)
		text := cut.NewText(char.Of(char.Pad(nil, []byte(word))))
		var got []int32
		e, ends := m.NewEncoder(1<<10, nil), make([]uint32, 3)
		for p := 0; p < len(word); {
			n, next := d.Cut(&text, p, len(word), ends)
			got = e.Append(got, text.View, p, ends[:n])
			p, parts = next, parts+n
		}
		if want := plainWord(c, word); !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v; merges are %q", word, got, want, c.Merges)
		}
	}
	if parts < 1000 {
		t.Errorf("200 words have %d parts", parts)
	}
	c := randomConfig(r, true, true)
	c.Vocab["xyz"] = 1 << 10 // which no merge makes
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Divider(); ok {
		t.Error("words that may be a token as a whole are divided")
	}
}

func compareWords(t *testing.T, c Config, e words.Encoder, list []string) {
	t.Helper()
	var text []byte
	var ends []uint32
	var want []int32
	for _, w := range list {
		text = append(text, w...)
		ends = append(ends, uint32(len(text)))
		want = append(want, plainWord(c, w)...)
	}
	if got := e.Append(nil, char.Of(char.Pad(nil, text)), 0, ends); !slices.Equal(got, want) {
		t.Errorf("%q is %v, want %v", list, got, want)
	}
}

// FuzzMerge compares words of any text with the definition.
func FuzzMerge(f *testing.F) {
	f.Add(uint64(1), "abcab", true)
	f.Fuzz(func(t *testing.T, seed uint64, word string, bytes bool) {
		if word == "" || len(word) > 500 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		c := randomConfig(r, bytes, r.IntN(2) == 0)
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		compareWords(t, c, m.NewEncoder(1<<10, nil), []string{string([]rune(word)), randomWord(r)})
	})
}
