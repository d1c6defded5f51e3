package vocab

import (
	"strconv"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestVocabulary(t *testing.T) {
	var tokens []Token
	for i := range 10_000 {
		tokens = append(tokens, Token{Text: strconv.Itoa(i * i), ID: int32(20_000 - 2*i)})
	}
	v := mustNew(t, tokens)
	if v.Len() != len(tokens) || v.Bound() != 20_001 {
		t.Errorf("%d tokens below %d, want %d below 20001", v.Len(), v.Bound(), len(tokens))
	}
	for _, want := range tokens {
		if id, ok := v.ID(want.Text); !ok || id != want.ID {
			t.Errorf("the id of %q is %d, %v, want %d", want.Text, id, ok, want.ID)
		}
		if text, ok := v.Text(want.ID); !ok || text != want.Text {
			t.Errorf("the text of %d is %q, %v, want %q", want.ID, text, ok, want.Text)
		}
	}
	for _, id := range []int32{-1, 1, 19_999, 20_001} {
		if text, ok := v.Text(id); ok {
			t.Errorf("%d is the token %q, want none", id, text)
		}
	}
	if id, ok := v.ID("x"); ok {
		t.Errorf("x is the token %d, want none", id)
	}
	if got := mustNew(t, nil); got.Len() != 0 || got.Bound() != 0 {
		t.Errorf("an empty vocabulary has %d tokens below %d", got.Len(), got.Bound())
	}
}

func TestMemory(t *testing.T) {
	v := mustNew(t, []Token{{"a", 0}, {"bc", 1}})
	if got, want := v.Memory(), int64(3+4*(3+2+2+4)); got != want {
		t.Errorf("a vocabulary of 2 tokens takes %d bytes, want %d", got, want)
	}
}

func mustNew(t *testing.T, tokens []Token) *Vocabulary {
	t.Helper()
	v, err := New(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestIDs: an id that would need a large table is an error.
func TestIDs(t *testing.T) {
	for _, id := range []int32{-1, 1 << 16, 1<<31 - 1} {
		if _, err := New([]Token{{"a", id}}); err == nil {
			t.Errorf("the id %d has no error", id)
		}
	}
}
