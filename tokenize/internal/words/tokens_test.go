package words

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// TestTokens: a table of any load has all tokens that were added, and no other words.
func TestTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, room := range []int{0, 1, 100, 1000, 5000} {
		tokens, want := NewTokens(room), map[string]int32{}
		for id := range int32(room) {
			word := fmt.Sprint(r.IntN(1 << (1 + r.IntN(40))))
			if _, ok := want[word]; !ok {
				want[word] = id
			}
			tokens.Add(word, id)
		}
		tokens.Add("", 1)
		tokens.Add("a word that is not short", 1)
		c := NewCached(&lengths{}, tokens, 1<<10, nil)
		for range 5000 {
			word := fmt.Sprint(r.IntN(1 << (1 + r.IntN(40))))
			id, ok := want[word]
			if !ok {
				id = int32(1<<20 + int(word[0]))
			}
			if got := encode(c, []string{word}); got[1] != id || (len(got) == 2) != (ok || len(word) == 1) {
				t.Fatalf("room for %d: %q is %v, want the token %d", room, word, got[1:], id)
			}
		}
	}
}

func TestTokensMemory(t *testing.T) {
	if m := NewTokens(200_000).Memory(); m > 200_000*25 {
		t.Errorf("room for 200,000 tokens takes %d bytes", m)
	}
	k := KeyOf(char.Of(char.Pad(nil, []byte("ab"))), 0, 2)
	if id := NewTokens(0).after(k, k.hash32()); id != noToken {
		t.Errorf("an empty table has the token %d", id)
	}
}
