package normal

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"
)

// charsmap maps every text that begins with one of the bytes to a text.
func charsmap(first []byte, to string) []byte {
	const children, leaf, units = 256, 512, 1024
	trie := make([]uint32, units)
	trie[0] = children << 10
	for _, b := range first {
		at := children ^ uint32(b)
		trie[at] = (at^leaf)<<10 | 1<<8 | uint32(b)
	}
	trie[leaf] = 1 << 31
	data := binary.LittleEndian.AppendUint32(nil, 4*units)
	for _, unit := range trie {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return append(data, to+"\x00"...)
}

// TestClusters: a cluster of at most 5 bytes is replaced as a whole, any other by character.
func TestClusters(t *testing.T) {
	var all []byte
	for b := 1; b < 256; b++ {
		all = append(all, byte(b))
	}
	p, err := NewPrecompiled(charsmap(all, "x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want int
	}{
		{"ab", 2},
		{"\r\n", 1},
		{"\n\r", 2},
		{"a\u0301", 1},
		{"a\u0301\u0302", 1},
		{"a\u0301\u0302\u0303", 4},      // 7 bytes
		{"\n\u0301\u0302", 2},           // nothing joins a control character
		{"\u0600a", 1},                  // a prefix
		{"\u0600\n", 2},                 // but of no control character
		{"©\u200d", 1},                  // 5 bytes
		{"©\u200d©\u0301", 4},           // pictographs joined
		{"a\u200d©\u0301", 2},           // a letter is none
		{"\u0915\u094d\u0915\u0301", 4}, // a conjunct
		{"\u0915\u094da\u0301", 3},      // 6 bytes, then a cluster
		{"\u1100\u1161\u0301", 3},       // Hangul
		{"a\u1161\u0301", 2},            // 5 bytes
		{"\uac00\u11a8\u0301", 3},       // a final after its syllable
		{"\uac01\u1161\u0301", 2},       // no vowel follows a final
		{"\U0001f1e6\U0001f1e7", 2},     // flags
		{"\x00", 1},                     // zero ends a key
		{"a\x00b", 3},
		{strings.Repeat("\u0301", 1000), 1000},
	} {
		if got := utf8.RuneCountInString(apply(p, c.text)); got != c.want {
			t.Errorf("%+q: %d texts, want %d", c.text, got, c.want)
		}
	}
}

func TestPrecompiledKeeps(t *testing.T) {
	p, err := NewPrecompiled(charsmap([]byte{'A', 0xc3}, "é"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":         "",
		"abc":      "abc",
		"aAc":      "aéc",
		"A\u0301":  "é", // all of the cluster
		"à":        "é",
		"中A한":      "中é한",
		"a\u0301A": "a\u0301é",
	} {
		if got := apply(p, text); got != want {
			t.Errorf("%+q: %+q, want %+q", text, got, want)
		}
	}
}

func TestPrecompiledRefuses(t *testing.T) {
	good := charsmap([]byte("a"), "b")
	for name, data := range map[string][]byte{
		"empty":     nil,
		"short":     good[:3],
		"no trie":   make([]byte, 8),
		"cut trie":  good[:100],
		"odd trie":  append([]byte{5, 0, 0, 0}, good[4:]...),
		"not UTF-8": charsmap([]byte("a"), "\xff"),
		"long text": charsmap([]byte("a"), strings.Repeat("b", textMost+1)),
	} {
		if _, err := NewPrecompiled(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzPrecompiled(f *testing.F) {
	f.Add(charsmap([]byte("aé中"), "b"), "a é中\r\n")
	f.Add(charsmap([]byte{0xf0}, "é"), "\U0001f600\u0301")
	f.Add(charsmap([]byte("aé中"), strings.Repeat("中", 9)), "中 text 中a")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		p, err := NewPrecompiled(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if got := apply(p, text); !utf8.ValidString(got) {
			t.Errorf("%+q became %+q", text, got)
		}
		long := []byte(strings.Repeat(text, 1+Loose/max(1, len(text))))
		size, _ := p.Needs(long)
		if out, _ := p.Append(nil, long); len(out) > size {
			t.Errorf("%d bytes of %+q needed %d bytes, %d were counted", len(long), text, len(out), size)
		}
	})
}
