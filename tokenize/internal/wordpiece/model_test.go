package wordpiece

import (
	"slices"
	"strings"
	"testing"
)

func TestSpell(t *testing.T) {
	vocab := map[string]int32{"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4, "una": 5, "é": 6, "##é": 7, "#": 8, "##": 9, " ": 10, "###": 11}
	for _, c := range []struct {
		word string
		want []int32
	}{
		{"", nil},
		{"un", []int32{1}},
		{"unaffable", []int32{0}}, // una is longer than un, and ##ffable is none
		{"unable", []int32{0}},
		{"unaa", []int32{5, 4}},
		{"éé", []int32{6, 7}},
		{"unx", []int32{0}},
		{"x", []int32{0}},
		{"##a", []int32{4}}, // at the start, the prefix is text
		{"##aé", []int32{4, 7}},
		{"###", []int32{11}},
		{"####", []int32{11, 11}},
		{strings.Repeat("é", 5), []int32{6, 7, 7, 7, 7}},
		{strings.Repeat("é", 6), []int32{0}},
		{" ", []int32{10}},
		{" un", []int32{0}},
	} {
		m, err := New(Config{Vocab: vocab, Unknown: "[UNK]", Prefix: "##", MaxChars: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.word) > 5 && c.word == "unaffable" {
			m.maxChars = 100
		}
		if got := m.spell(nil, []byte(c.word)); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.word, got, c.want)
		}
	}
}

func TestSkipSpace(t *testing.T) {
	m, err := New(Config{Vocab: map[string]int32{"?": 0, "a": 1}, Unknown: "?", Prefix: "##", MaxChars: 9, SkipSpace: true})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]int32{" \n": nil, "\u3000": nil, "a": {1}, "b": {0}, "aa": {0}, " a": {1}, "\t\u3000a": {1}, " aa": {0}} {
		if got := m.spell(nil, []byte(word)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

func TestNoUnknown(t *testing.T) {
	if _, err := New(Config{Vocab: map[string]int32{"a": 1}, Unknown: "[UNK]"}); err == nil {
		t.Error("a vocabulary without its unknown token is accepted")
	}
}
