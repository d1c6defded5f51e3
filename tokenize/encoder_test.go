package tokenize

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// fields are those of a tokenizer.json.
type fields map[string]any

// byteLevel is a small tokenizer of bytes, with some fields changed. Its ids: bytes first, then merges
// from 256 on, then added tokens.
func byteLevel(change fields) fields {
	f := fields{
		"added_tokens":  []fields{{"id": 260, "content": "<s>", "special": true}, {"id": 261, "content": "<tool>"}},
		"normalizer":    nil,
		"pre_tokenizer": fields{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		"model": fields{
			"type": "BPE", "vocab": byteVocab("he", "ll", "hell", "Ġhe"),
			"merges": []any{"h e", "l l", []string{"he", "ll"}, "Ġ he"},
		},
	}
	maps.Copy(f, change)
	return f
}

func byteVocab(tokens ...string) map[string]int32 {
	v := map[string]int32{}
	for b := range 256 {
		v[charactersOf(string([]byte{byte(b)}))] = int32(b)
	}
	for i, t := range tokens {
		v[t] = int32(256 + i)
	}
	return v
}

// sentencePiece is a small tokenizer of characters. Its ids: <unk>, the bytes from 1 on, then tokens from
// 257 on.
func sentencePiece(change fields) fields {
	v := map[string]int32{"<unk>": 0}
	for b := range 256 {
		v[sprintByte(b)] = int32(1 + b)
	}
	for i, t := range []string{"▁", "a", "b", "ab", "▁a", "▁▁", "▁ab"} {
		v[t] = int32(257 + i)
	}
	f := fields{
		"model": fields{
			"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, "vocab": v,
			"merges": []string{"a b", "▁ a", "▁ ▁", "▁ ab"},
		},
	}
	maps.Copy(f, change)
	return f
}

func sprintByte(b int) string {
	const digits = "0123456789ABCDEF"
	return "<0x" + digits[b/16:b/16+1] + digits[b%16:b%16+1] + ">"
}

func mustLoad(t testing.TB, f fields) *Tokenizer {
	t.Helper()
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// same fails if a text has other tokens.
func same(t *testing.T, e *Encoder, text string, want ...int32) {
	t.Helper()
	got, err := e.Append(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q is %v, want %v", text, got, want)
	}
	if n, err := e.Count([]byte(text)); n != len(want) || err != nil {
		t.Errorf("%q has %d tokens (%v), want %d", text, n, err, len(want))
	}
}

func TestByteLevel(t *testing.T) {
	e := mustLoad(t, byteLevel(nil)).NewEncoder(Options{})
	same(t, e, "")
	same(t, e, "hello he", 258, 'o', 259)
	same(t, e, "é", 0xc3, 0xa9)
	same(t, e, "hell<s>he<tool>", 258, 260, 256, 261)
	prefixed := fields{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}
	e = mustLoad(t, byteLevel(fields{"pre_tokenizer": prefixed})).NewEncoder(Options{})
	same(t, e, "he<s>he<s> he", 259, 260, 259, 260, 259)
}

// TestWholeText: without a pattern, a text is one word.
func TestWholeText(t *testing.T) {
	whole := fields{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	e := mustLoad(t, byteLevel(fields{"pre_tokenizer": whole})).NewEncoder(Options{})
	same(t, e, "a he\nhe", 'a', 259, '\n', 256)
}

func TestSpecials(t *testing.T) {
	tokenizer := mustLoad(t, byteLevel(nil))
	e := tokenizer.NewEncoder(Options{Specials: SpecialsText})
	same(t, e, "<s><tool>", '<', 's', '>', 261)
	if n := e.Specials(); n != 0 {
		t.Errorf("%d special tokens were found, want 0", n)
	}
	e = tokenizer.NewEncoder(Options{})
	same(t, e, "<s><tool><s>", 260, 261, 260)
	if n := e.Specials(); n != 4 { // by Append and by Count
		t.Errorf("%d special tokens were found, want 4", n)
	}
	e = tokenizer.NewEncoder(Options{Specials: SpecialsError})
	same(t, e, "<tool>", 261)
	got, err := e.Append([]int32{1}, []byte("ab<s>"))
	var special *SpecialError
	if !errors.As(err, &special) || special.Token != "<s>" || special.Offset != 2 || !slices.Equal(got, []int32{1}) {
		t.Errorf("got %v and the error %v", got, err)
	}
}

func TestNotUTF8(t *testing.T) {
	e := mustLoad(t, byteLevel(nil)).NewEncoder(Options{})
	if got, err := e.Append([]int32{1}, []byte("a\xff")); !errors.Is(err, ErrNotUTF8) || len(got) != 1 {
		t.Errorf("got %v and the error %v", got, err)
	}
}

func TestSentencePiece(t *testing.T) {
	replace := fields{"type": "Replace", "pattern": fields{"String": " "}, "content": "▁"}
	prepend := fields{"type": "Sequence", "normalizers": []fields{{"type": "Prepend", "prepend": "▁"}, replace}}
	metaspace := func(scheme string, split bool) fields {
		return fields{"pre_tokenizer": fields{"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}}
	}
	const ab, sp, spa, spsp, spab = 260, 257, 261, 262, 263
	e := func(f fields) *Encoder {
		f["added_tokens"] = []fields{{"id": 264, "content": "<s>", "special": true}, {"id": 265, "content": "▁▁x", "normalized": true}}
		return mustLoad(t, sentencePiece(f)).NewEncoder(Options{})
	}
	x := int32('x' + 1)
	same(t, e(fields{"normalizer": prepend}), "ab ab  a", spab, spab, sp, spa)
	same(t, e(fields{"normalizer": prepend}), "é<s>ab", sp, 0xc3+1, 0xa9+1, 264, spab)
	// An added token is normalized like the text.
	same(t, e(fields{"normalizer": replace}), "a  x▁ x ▁y", 258, 265, 265, spsp, 'y'+1)
	same(t, e(fields{"normalizer": replace}), "ab▁ab", ab, spab)
	same(t, e(metaspace("always", true)), "ab  <s>ab", spab, sp, sp, 264, spab)
	same(t, e(metaspace("first", true)), "ab ab<s>ab", spab, spab, 264, ab)
	same(t, e(metaspace("first", true)), "<s>ab", 264, ab)
	same(t, e(metaspace("never", false)), "ab  a", ab, sp, spa)
	same(t, e(metaspace("always", false)), " ab x", spab, sp, x)
}

// TestUnknown: characters without a token become the unknown one, and neighbours share it.
func TestUnknown(t *testing.T) {
	model := func(fuse bool) fields {
		return fields{"model": fields{
			"type": "BPE", "unk_token": "<unk>", "fuse_unk": fuse, "vocab": fields{"<unk>": 0, "a": 1, "b": 2, "ab": 3}, "merges": []string{"a b"},
		}}
	}
	e := mustLoad(t, model(true)).NewEncoder(Options{})
	same(t, e, "xyab", 0, 3)
	same(t, e, strings.Repeat("x", 100)+"abx", 0, 3, 0)
	same(t, mustLoad(t, model(false)).NewEncoder(Options{}), "xyab", 0, 0, 3)
	// Without an unknown token, they vanish, and their neighbours are merged.
	none := fields{"model": fields{"type": "BPE", "vocab": fields{"a": 1, "b": 2, "ab": 3}, "merges": []string{"a b"}}}
	same(t, mustLoad(t, none).NewEncoder(Options{}), "axbx", 3)
	same(t, mustLoad(t, none).NewEncoder(Options{}), "x")
}

func TestTemplate(t *testing.T) {
	f := byteLevel(fields{"post_processor": fields{
		"type":           "TemplateProcessing",
		"single":         []fields{{"SpecialToken": fields{"id": "<s>", "type_id": 0}}, {"Sequence": fields{"id": "A", "type_id": 0}}, {"SpecialToken": fields{"id": "end", "type_id": 0}}},
		"pair":           []fields{},
		"special_tokens": fields{"<s>": fields{"id": "<s>", "ids": []int{260}, "tokens": []string{"<s>"}}, "end": fields{"id": "end", "ids": []int{261, 261}}},
	}})
	same(t, mustLoad(t, f).NewEncoder(Options{}), "he", 256)
	same(t, mustLoad(t, f).NewEncoder(Options{Template: true}), "he", 260, 256, 261, 261)
	same(t, mustLoad(t, f).NewEncoder(Options{Template: true}), "", 260, 261, 261)
	f["post_processor"] = fields{"type": "Sequence", "processors": []fields{{"type": "ByteLevel"}, {"type": "RobertaProcessing", "sep": []any{"</s>", 2}, "cls": []any{"<s>", 1}}}}
	same(t, mustLoad(t, f).NewEncoder(Options{Template: true}), "he", 1, 256, 2)
}

// TestIgnoreMerges: a word that is a token is this token, and part of a longer word is not.
func TestIgnoreMerges(t *testing.T) {
	model := fields{"type": "BPE", "ignore_merges": true, "vocab": byteVocab("ab", "abcabcabcabcabcabc", "xy"), "merges": []string{"a b"}}
	e := mustLoad(t, byteLevel(fields{"model": model, "added_tokens": nil})).NewEncoder(Options{})
	for range 2 {
		same(t, e, "xy", 258)
		same(t, e, "xyx", 'x', 'y', 'x')
		same(t, e, strings.Repeat("abc", 6), 257)
		same(t, e, strings.Repeat("abc", 6)+"a", 256, 'c', 256, 'c', 256, 'c', 256, 'c', 256, 'c', 256, 'c', 'a')
	}
}

// TestLongWords: words of any length, of which a quadratic merge would never end.
func TestLongWords(t *testing.T) {
	n := 1 << 21
	if racetest.Enabled {
		n = 1 << 18
	}
	model := fields{"type": "BPE", "vocab": byteVocab("aa", "aaaa", "ab", "aba"), "merges": []string{"a a", "aa aa", "a b", "ab a"}}
	e := mustLoad(t, byteLevel(fields{"model": model, "added_tokens": nil})).NewEncoder(Options{})
	for part, each := range map[string]float64{"aaaa": 1, "abab": 2, "    ": 4, "日日日日": 12} { // aba and b in turn
		text := strings.Repeat(part, n/len(part))
		want := int(each * float64(n/len(part)))
		if got, err := e.Count([]byte(text)); got != want || err != nil {
			t.Errorf("%d times %q has %d tokens (%v), want %d", n/len(part), part, got, err, want)
		}
	}
	if m, limit := e.Memory(), int64(16<<20); m > limit {
		t.Errorf("the encoder keeps %d bytes, want at most %d", m, limit)
	}
}

func TestVocabulary(t *testing.T) {
	tokenizer := mustLoad(t, byteLevel(nil))
	if n, most := tokenizer.VocabSize(), tokenizer.MaxID(); n != 262 || most != 261 {
		t.Errorf("%d tokens up to %d, want 262 up to 261", n, most)
	}
	if id, ok := tokenizer.ID("<s>"); !ok || id != 260 {
		t.Errorf("<s> is %d, %v", id, ok)
	}
	if text, ok := tokenizer.Token(259); !ok || text != "Ġhe" {
		t.Errorf("259 is %q, %v", text, ok)
	}
	other := mustLoad(t, byteLevel(fields{"added_tokens": nil}))
	if a, b := tokenizer.Fingerprint(), other.Fingerprint(); a == b || !strings.HasPrefix(a, version+" sha256:") {
		t.Errorf("fingerprints are %s and %s", a, b)
	}
	if m := tokenizer.Memory(); m < 100_000 || m > 4<<20 {
		t.Errorf("the tokenizer takes %d bytes", m)
	}
}

// A document of several texts has the tokens that each text has alone; the template and MaxTokens
// are the document's.
func TestJoin(t *testing.T) {
	f := byteLevel(fields{"post_processor": fields{
		"type":           "TemplateProcessing",
		"single":         []fields{{"SpecialToken": fields{"id": "<s>"}}, {"Sequence": fields{"id": "A"}}, {"SpecialToken": fields{"id": "</s>"}}},
		"special_tokens": fields{"<s>": fields{"ids": []int{1}}, "</s>": fields{"ids": []int{2}}},
	}})
	texts := [][]byte{[]byte("hep"), nil, []byte("he")}
	for _, c := range []struct {
		options Options
		want    []int32
		bounds  []int
		cut     int64
	}{
		{Options{}, []int32{256, 'p', 256}, []int{0, 2, 2, 3}, 0},
		{Options{Template: true}, []int32{1, 256, 'p', 256, 2}, []int{1, 3, 3, 4}, 0},
		{Options{MaxTokens: 3}, []int32{256, 'p', 256}, []int{0, 2, 2, 3}, 0},
		{Options{MaxTokens: 2}, []int32{256, 'p'}, []int{0, 2, 2, 2}, 1},
		{Options{MaxTokens: 1}, []int32{256}, []int{0, 1, 1, 1}, 1},
		{Options{MaxTokens: 4, Template: true}, []int32{1, 256, 'p', 2}, []int{1, 3, 3, 3}, 1},
	} {
		e, bounds := mustLoad(t, f).NewEncoder(c.options), make([]int, 4)
		got, err := e.Join([]int32{7}, texts, bounds)
		if err != nil || !slices.Equal(got[1:], c.want) || !slices.Equal(bounds, c.bounds) || e.Cut() != c.cut {
			t.Errorf("%+v: tokens %v, bounds %v, %d cut, error %v", c.options, got[1:], bounds, e.Cut(), err)
		}
		if n, err := e.Count(texts...); n != len(c.want) || err != nil {
			t.Errorf("%+v: %d tokens are counted, error %v", c.options, n, err)
		}
	}
	if got, err := mustLoad(t, f).NewEncoder(Options{}).Join([]int32{7}, [][]byte{[]byte("he"), {0xff}}, nil); !errors.Is(err, ErrNotUTF8) || len(got) != 1 {
		t.Errorf("a text that is not UTF-8: %v, error %v", got, err)
	}
}

// What is beyond MaxTokens is not encoded, except the words that are cut together.
func TestMaxTokensStops(t *testing.T) {
	e := mustLoad(t, byteLevel(nil)).NewEncoder(Options{MaxTokens: 5})
	text := []byte(strings.Repeat("a ", 1<<20))
	got, err := e.Append(nil, text)
	if err != nil || len(got) != 5 || cap(got) > 4096 || e.Cut() != 1 {
		t.Errorf("%d tokens, room for %d, error %v", len(got), cap(got), err)
	}
}

// With Repair each byte that is not part of a character is U+FFFD.
func TestEncoderReplacesUTF8(t *testing.T) {
	tok := mustLoad(t, byteLevel(nil))
	texts := [][]byte{[]byte("a\xffb\xe2\x82"), []byte("é")}
	if _, err := tok.NewEncoder(Options{}).Count(texts...); !errors.Is(err, ErrNotUTF8) {
		t.Errorf("got %v", err)
	}
	e := tok.NewEncoder(Options{Repair: true})
	got, err := e.Join(nil, texts, nil)
	want, _ := e.Append(nil, []byte("a\ufffdb\ufffd\ufffdé"))
	if err != nil || !slices.Equal(got, want) || string(texts[0]) != "a\xffb\xe2\x82" {
		t.Errorf("got %v (%v), want %v; the text became %q", got, err, want, texts[0])
	}
}
