package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// symbolsOf returns the symbols of a text of bytes.
func symbolsOf(text string) (symbols []uint32) {
	for _, c := range []byte(text) {
		symbols = append(symbols, uint32(c))
	}
	return symbols
}

// mergedAtOnce returns the tokens of symbols, merged in one window.
func mergedAtOnce(m *Model, symbols []uint32) (ids []int32) {
	var all merger
	all.merge(&m.pairs, nil, symbols)
	for i := 0; i < len(symbols); i = int(all.next[i]) {
		ids = append(ids, m.ids[all.ids[i]])
	}
	return ids
}

// testWindows compares the tokens of a text with those of one window, and returns the number of
// symbols that all windows had.
func testWindows(t *testing.T, m *Model, name, text string) int {
	t.Helper()
	symbols := symbolsOf(text)
	w := newWindows(nil)
	if got, want := w.merge(nil, m, symbols), mergedAtOnce(m, symbols); !slices.Equal(got, want) {
		t.Errorf("%s: %d tokens differ from the %d of one window", name, len(got), len(want))
	}
	return w.merged
}

// TestWindows: the tokens are those of one window, whatever the merges are.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 60 {
		m, err := New(randomConfig(r, true, false))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		part := randomWord(r)
		for text.Len() < 3000 {
			if i%2 == 0 {
				part = randomWord(r)
			}
			text.WriteString(part)
		}
		testWindows(t, m, fmt.Sprintf("text %d", i), text.String())
	}
}

// fallingConfig has the pairs of neighbours in a ring of n letters. Each is merged before the one on
// its left, so tokens depend on letters far to their right.
func fallingConfig(n int) (c Config, ring string) {
	c = Config{Vocab: map[string]int32{}, Bytes: true, Unknown: -1}
	for b := range 256 {
		c.Vocab[string([]byte{byte(b)})] = int32(b)
	}
	var letters []byte
	for b := range n {
		letters = append(letters, byte(b))
	}
	for i := n - 1; i >= 0; i-- {
		pair := [2]string{string(letters[i : i+1]), string(letters[(i+1)%n : (i+1)%n+1])}
		c.Merges = append(c.Merges, pair)
		c.Vocab[pair[0]+pair[1]] = int32(len(c.Vocab))
	}
	return c, string(letters)
}

// doublingConfig has tokens of a repeated letter, each twice as long as the one before.
func doublingConfig() (c Config) {
	c, _ = fallingConfig(0)
	for n := 1; n <= 1<<12; n *= 2 {
		half := strings.Repeat("a", n)
		c.Merges = append(c.Merges, [2]string{half, half})
		c.Vocab[half+half] = int32(len(c.Vocab))
	}
	return c
}

// The work for a text is proportional to its length, also where the end of a window changes tokens
// far before it, and where tokens are longer than a window.
func TestWindowsAreLinear(t *testing.T) {
	falling, ring := fallingConfig(251)
	letters := rand.New(rand.NewPCG(9, 10))
	var random strings.Builder
	for range 1 << 10 {
		random.WriteString(randomWord(letters))
	}
	ordinary := randomConfig(letters, true, false)
	for name, c := range map[string]struct {
		Config
		part string
		most float64 // windows of a symbol
	}{
		"random words": {ordinary, random.String(), 1.2},
		"one letter":   {ordinary, "a", 1.2},
		"falling":      {falling, ring, 4},
		"doubling":     {doublingConfig(), "a", 8},
	} {
		m, err := New(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1 << 14, 1 << 16} {
			merged := testWindows(t, m, name, strings.Repeat(c.part, n/len(c.part)+1)[:n])
			if times := float64(merged) / float64(n); times > c.most {
				t.Errorf("%s: each of %d symbols is merged in %.2f windows, want at most %v", name, n, times, c.most)
			}
		}
	}
}

// A long word takes no buffer whose size depends on its length, except its symbols.
func TestWindowsMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	m, err := New(randomConfig(r, true, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1 << 12, 1 << 20} {
		asked := int64(0)
		w := newWindows(&words.Scratch{Ask: func(bytes int64) { asked = bytes }})
		w.merge(make([]int32, 0, n), m, symbolsOf(strings.Repeat("ab", n/2)))
		if most := int64(n/8 + 16<<10); w.memory() > most+16<<10 || asked > most {
			t.Errorf("%d symbols take %d bytes, %d of them asked for", n, w.memory(), asked)
		}
	}
}
