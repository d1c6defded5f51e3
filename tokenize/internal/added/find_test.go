package added

import (
	"fmt"
	"strings"
	"testing"
)

// TestFind compares with what tokenizers 0.23 finds.
func TestFind(t *testing.T) {
	plain := []Token{{ID: 1, Text: "<s>"}, {ID: 2, Text: "<s>>", Special: true}, {ID: 3, Text: "<"}, {ID: 4, Text: "ab"}}
	for _, c := range []struct {
		name     string
		tokens   []Token
		text     string
		specials bool
		want     string
	}{
		{"none", nil, "a<s>", true, "a<s>"},
		{"empty", plain, "", true, ""},
		{"longest", plain, "x<s>y<s>>z", true, "x[1]y[2]z"},
		{"shorter", plain, "<<s<s", true, "[3][3]s[3]s"},
		{"a special's text hides what it contains", plain, "<s>><s>", false, "<s>>[1]"},
		{"word", []Token{{ID: 1, Text: "ab", SingleWord: true}}, "ab xab ab_ ab! éab ½ab", true, "[1] xab ab_ [1]! éab ½[1]"},
		{"left", []Token{{ID: 1, Text: "m", LStrip: true}}, "a \u3000\nm mx", true, "a[1][1]x"},
		{"right", []Token{{ID: 1, Text: "m", RStrip: true}}, "m \n ma m", true, "[1][1]a [1]"},
		{"space that was taken", []Token{{ID: 1, Text: "m", RStrip: true}, {ID: 2, Text: "\n"}}, "m \n  a", true, "[1][2]  a"},
		{"all that it is was taken", []Token{{ID: 1, Text: "m", RStrip: true}, {ID: 2, Text: "\n", LStrip: true}}, "m\na\n", true, "[1]a[2]"},
		{"both", []Token{{ID: 1, Text: "m", RStrip: true, LStrip: true}}, "x m m y", true, "x[1][1]y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := found(NewSet(c.tokens).Find([]byte(c.text), c.specials), c.text); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// found is a text with its tokens in brackets.
func found(f Finder, text string) string {
	var b strings.Builder
	p := 0
	for {
		m, ok := f.Next()
		if !ok {
			return b.String() + text[p:]
		}
		fmt.Fprintf(&b, "%s[%d]", text[p:m.Start], m.Token.ID)
		p = m.End
	}
}

// TestMany finds a million tokens, and no others.
func TestMany(t *testing.T) {
	var tokens []Token
	for i := range 1_000_000 {
		tokens = append(tokens, Token{ID: int32(i), Text: fmt.Sprintf("<%d>", i)})
	}
	s := NewSet(tokens)
	if got, limit := s.Memory(), int64(60_000_000); got > limit {
		t.Errorf("a million tokens take %d bytes, want at most %d", got, limit)
	}
	if got, want := found(s.Find([]byte("a<0><999999><1000000><007>"), true), "a<0><999999><1000000><007>"), "a[0][999999]<1000000><007>"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestFirstOfTwo(t *testing.T) {
	s := NewSet([]Token{{ID: 5, Text: "a"}, {ID: 6, Text: "a"}})
	if got := found(s.Find([]byte("a"), true), "a"); got != "[5]" {
		t.Errorf("found %s, want [5]", got)
	}
}
