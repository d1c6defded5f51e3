package unigram

import (
	"slices"
	"strings"
	"testing"
)

// TestLongWord: a long word leaves no buffer that later words would clear.
func TestLongWord(t *testing.T) {
	m, err := New(Config{Tokens: []string{"<unk>", "a", "aa", "b"}, Scores: []float64{0, -2, -3, -1}})
	if err != nil {
		t.Fatal(err)
	}
	s := m.newSpeller(nil)
	const n = 1 << 21
	if got := len(s.Spell(nil, []byte(strings.Repeat("a", n)))); got != n/2 {
		t.Errorf("%d tokens, want %d", got, n/2)
	}
	s.Trim()
	if got := s.Memory(); got > 1<<10 {
		t.Errorf("the speller keeps %d bytes", got)
	}
	if got, want := s.Spell(nil, []byte("ab")), []int32{1, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
