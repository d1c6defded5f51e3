package tokenize

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// bertFile is a small tokenizer of BERT.
const bertFile = `{
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[UNK]": 0, "un": 1, "##able": 2, "中": 3, "!": 4, "cafe": 5}}}`

// unigramFile is a small tokenizer like T5's; PRE is its pre-tokenizer.
const unigramFile = `{
	"pre_tokenizer": PRE,
	"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true,
		"vocab": [["<unk>", 0], ["▁", -2.5], ["▁a", -1], ["b", -2], ["▁ab", -3.5], ["<0xC3>", -9], ["<0xA9>", -9]]}}`

func encode(t *testing.T, file, text string) []int32 {
	t.Helper()
	tokenizer, err := Load([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tokenizer.NewEncoder(Options{}).Append(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestBert(t *testing.T) {
	for text, want := range map[string][]int32{
		"":              nil,
		" \n":           nil,
		"Unable\tCAFÉ!": {1, 2, 5, 4},
		"un中able":       {1, 3, 0},
		"\u200bun":      {1},
	} {
		if got := encode(t, bertFile, text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestUnigram(t *testing.T) {
	metaspace := `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}`
	both := `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, ` + metaspace + `]}`
	for _, c := range []struct {
		pre, text string
		want      []int32
	}{
		{metaspace, "ab", []int32{2, 3}},
		{metaspace, "a  b", []int32{2, 1, 1, 3}},
		{metaspace, "a ", []int32{2, 1}},
		{both, " a \n\tb ", []int32{2, 1, 3}},
		{both, "a ▁b", []int32{2, 1, 3}},
		{both, " ", nil},
		{both, "é", []int32{1, 5, 6}},
		{both, "xé", []int32{1, 0}},
	} {
		if got := encode(t, strings.Replace(unigramFile, "PRE", c.pre, 1), c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q with %s: %v, want %v", c.text, c.pre, got, c.want)
		}
	}
}

// TestEmptyTokens: the vocabulary of umT5 has the empty text twice, which no text has.
func TestEmptyTokens(t *testing.T) {
	file := strings.Replace(strings.Replace(unigramFile, "PRE", "null", 1), `["b", -2]`, `["b", -2], ["", 0], ["", -1]`, 1)
	if got, want := encode(t, file, "▁ab"), []int32{2, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRefusesEncoders: parts that are known alone, but not together, or not in this form.
func TestRefusesEncoders(t *testing.T) {
	unigram := func(pre string) string { return strings.Replace(unigramFile, "PRE", pre, 1) }
	for name, file := range map[string]string{
		"white space dropped before Unigram": unigram(`{"type": "BertPreTokenizer"}`),
		"bytes before Unigram":               unigram(`{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}`),
		"Metaspace of the first word":        unigram(`{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}]}`),
		"Metaspace after Strip":              strings.Replace(unigram(`{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}`), `{`, `{"normalizer": {"type": "Strip", "strip_left": true, "strip_right": false},`, 1),
		"Punctuation":                        strings.Replace(bertFile, `"BertPreTokenizer"`, `"Punctuation", "behavior": "Removed"`, 1),
		"a pattern of Replace":               strings.Replace(bertFile, `{"type": "BertNormalizer"`, `{"type": "Replace", "pattern": {"Regex": "a|b"}, "content": ""}, "x": {"type": ""`, 1),
		"no unk_id":                          strings.Replace(unigram("null"), `"unk_id": 0`, `"unk_id": null`, 1),
		"a token twice":                      strings.Replace(unigram("null"), `"▁ab"`, `"▁a"`, 1),
		"an unknown field":                   strings.Replace(unigram("null"), `"byte_fallback"`, `"alpha": 0.1, "byte_fallback"`, 1),
	} {
		_, err := Load([]byte(file))
		var u *UnsupportedError
		if !errors.As(err, &u) {
			t.Errorf("%s: got the error %v, want an UnsupportedError", name, err)
		}
	}
}

// TestDamagedEncoders: clear errors, and no panic.
func TestDamagedEncoders(t *testing.T) {
	for name, file := range map[string]string{
		"no unknown token": strings.Replace(bertFile, `"[UNK]": 0, `, "", 1),
		"an id twice":      strings.Replace(bertFile, `"un": 1`, `"un": 2`, 1),
		"unk_id":           strings.Replace(strings.Replace(unigramFile, "PRE", "null", 1), `"unk_id": 0`, `"unk_id": 99`, 1),
		"a score":          strings.Replace(strings.Replace(unigramFile, "PRE", "null", 1), "-3.5", `"x"`, 1),
		"a charsmap":       strings.Replace(bertFile, `"BertNormalizer"`, `"Precompiled", "precompiled_charsmap": "AAAA"`, 1),
	} {
		if _, err := Load([]byte(file)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
