package words

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/internal/char"
)

// lengths spells a word by its bytes. Ids are large ones for
// capitals. "ab" is another token as a word.
type lengths struct{ spelled int }

func (s *lengths) Spell(dst []int32, word []byte) []int32 {
	s.spelled++
	for _, c := range word {
		switch {
		case c == '_': // no token
		case c < 'a':
			dst = append(dst, 1<<20+int32(c))
		default:
			dst = append(dst, int32(c))
		}
	}
	return dst
}

func (s *lengths) Token(word []byte) (int32, bool) { return 7, string(word) == "ab" }

func (s *lengths) Part(v char.View, p, end int) int {
	if i := slices.Index(v.Bytes(p, end), '-'); i >= 0 {
		return p + i + 1
	}
	return end
}

func (s *lengths) Memory() int64 { return 1000 }
func (s *lengths) Trim()         {}

// someTokens has the tokens of short words of a lengths.
func someTokens() *Tokens {
	t := NewTokens(1)
	t.Add("ab", 7)
	return t
}

func encode(e Encoder, list []string) []int32 {
	text := strings.Join(list, "")
	var ends []uint32
	p := 0
	for _, w := range list {
		p += len(w)
		ends = append(ends, uint32(p))
	}
	return e.Append([]int32{-1}, char.Of(char.Pad(nil, []byte(text))), 0, ends)
}

// TestCached: tokens do not depend on what the cache has.
func TestCached(t *testing.T) {
	s := &lengths{}
	c := NewCached(s, someTokens(), 1<<10, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var list []string
		want := []int32{-1}
		for range 1 + r.IntN(300) {
			w := ""
			for range 1 + r.IntN(1+r.IntN(45)) {
				w += string("abABc_-d"[r.IntN(8)])
			}
			list = append(list, w)
			if w == "ab" {
				want = append(want, 7)
				continue
			}
			want = s.Spell(want, []byte(w))
		}
		if got := encode(c, list); !slices.Equal(got, want) {
			t.Fatalf("%q is %v, want %v", list, got, want)
		}
	}
}

// TestRemembers: a word is spelled once.
func TestRemembers(t *testing.T) {
	s := &lengths{}
	c := NewCached(s, someTokens(), 1<<16, nil)
	words := []string{"a", "a_____b", "a____________b", "a_________________b", "A", "a__________-b__________-c__________-d"}
	encode(c, words)
	first := s.spelled
	encode(c, append(words, words...))
	if again := s.spelled - first; again != 0 {
		t.Errorf("%d words were spelled again", again)
	}
}

// TestParts: a part that would be another token as a word is remembered apart from the word.
func TestParts(t *testing.T) {
	c := NewCached(&cutAtA{}, someTokens(), 1<<16, nil)
	long := strings.Repeat("c", 20) + "ab"
	for range 2 {
		if got, want := encode(c, []string{"ab", long, "ab"}), 1+1+22+1; len(got) != want || got[1] != 7 || got[want-1] != 7 {
			t.Errorf("%v has %d tokens, want %d", got, len(got), want)
		}
	}
}

// cutAtA divides words before "a".
type cutAtA struct{ lengths }

func (s *cutAtA) Part(v char.View, p, end int) int {
	if i := slices.Index(v.Bytes(p+1, end), 'a'); i >= 0 {
		return p + 1 + i
	}
	return end
}

// TestZeros: words of zero bytes differ from empty entries.
func TestZeros(t *testing.T) {
	for n := 1; n < 40; n++ {
		c := NewCached(&lengths{}, someTokens(), 1<<10, nil)
		if got := encode(c, []string{strings.Repeat("\x00", n)}); len(got) != 1+n {
			t.Errorf("%d zero bytes have %d tokens", n, len(got)-1)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, bytes := range []int{1 << 10, 1 << 20, 12 << 20} {
		c := NewCached(&lengths{}, someTokens(), bytes, nil)
		tables := c.Memory() - 1000 - int64(bytes)
		if tables > 16<<10 || tables < -int64(bytes)/2 {
			t.Errorf("a cache of at most %d bytes takes %d", bytes, c.Memory())
		}
	}
}

func TestPacked(t *testing.T) {
	k := Key{1, 2}
	for n := range 7 {
		var ids []int32
		for i := range n {
			ids = append(ids, int32(1<<18-1-i*77))
		}
		var e shortEntry
		if !e.store(k, ids) {
			t.Fatalf("%d tokens do not fit", n)
		}
		if got := e.append(nil); !slices.Equal(got, ids) {
			t.Errorf("got %v, want %v", got, ids)
		}
	}
	var e shortEntry
	for _, ids := range [][]int32{make([]int32, 7), {1 << 18, 0, 0, 0}} {
		if e.store(k, ids) || e != (shortEntry{}) {
			t.Errorf("%v fits", ids)
		}
	}
}
