package tokenize

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// TestRefuses: each part that is not known is named with its text.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, part, text string }{
		{"normalizer", `{"model": {"type": "BPE"}, "normalizer": {"type": "Nmt"}}`, "normalizer", "Nmt"},
		{"member", `{"model": {"type": "BPE"}, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}, {"type": "Odd"}]}}`, "normalizer 2", "Odd"},
		{"pre-tokenizer", `{"model": {"type": "BPE"}, "pre_tokenizer": {"type": "UnicodeScripts"}}`, "pre_tokenizer", "UnicodeScripts"},
		{"model", `{"model": {"type": "WordLevel"}}`, "model", "WordLevel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load([]byte(c.file))
			var u *UnsupportedError
			if !errors.As(err, &u) {
				t.Fatalf("got the error %v, want an UnsupportedError", err)
			}
			if u.Part != c.part || !strings.Contains(u.What, c.text) {
				t.Errorf("got %q of %q, want %q of %q", u.What, u.Part, c.text, c.part)
			}
			if !strings.Contains(err.Error(), "map()") {
				t.Errorf("the error %q names no way around", err)
			}
		})
	}
}

// TestDamaged: what no tokenizer.json is has another error.
func TestDamaged(t *testing.T) {
	for _, file := range []string{"", "[]", "{}", `{"model": 1}`, `{"model": {"type": "BPE"`, `{"normalizer": {"type": "Sequence", "normalizers": [null]}}`} {
		_, err := Load([]byte(file))
		var u *UnsupportedError
		if err == nil || errors.As(err, &u) {
			t.Errorf("%q: got the error %v, want that of a damaged file", file, err)
		}
	}
}

// TestTiktoken: neighbours whose bytes are a token are merged, the lowest rank first.
func TestTiktoken(t *testing.T) {
	var file strings.Builder
	add := func(token string, rank int) {
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
	}
	for b := range 256 {
		add(string([]byte{byte(b)}), b)
	}
	for i, token := range []string{"bc", "ab", "abc", " abc", "\n  "} {
		add(token, 256+i)
	}
	o := Tiktoken{Pattern: "cl100k_base", Specials: map[string]int32{"<|end|>": 300}}
	tokenizer, err := LoadTiktoken([]byte(file.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	e := tokenizer.NewEncoder(Options{})
	same(t, e, "abc abcd<|end|>", 258, 259, 'd', 300)
	same(t, e, "abcab\n  ", 258, 257, 260)
	same(t, e, "\n  a", '\n', ' ', ' ', 'a')
	o.Pattern = "llama3" // white space at the end is cut after the last line end
	other, err := LoadTiktoken([]byte(file.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, other.NewEncoder(Options{}), "ab\n  ", 257, '\n', ' ', ' ')
	if tokenizer.Fingerprint() == other.Fingerprint() {
		t.Error("two patterns have the same fingerprint")
	}
	for name, broken := range map[string]string{"token": "!! 1", "rank": "YQ== x", "twice": "YQ== 1\nYQ== 2", "bytes": "YQ== 1"} {
		if _, err := LoadTiktoken([]byte(broken), o); err == nil {
			t.Errorf("%s: a damaged file has no error", name)
		}
	}
	var u *UnsupportedError
	if _, err := LoadTiktoken(nil, Tiktoken{Pattern: "gpt9"}); !errors.As(err, &u) || !strings.Contains(err.Error(), "kimi") {
		t.Errorf("got the error %v, want one with the known patterns", err)
	}
}

func TestTekken(t *testing.T) {
	var vocab []fields
	for b := range 256 {
		vocab = append(vocab, fields{"rank": b, "token_bytes": []byte{byte(b)}})
	}
	for i, token := range []string{"ab", "abc", "unused"} {
		vocab = append(vocab, fields{"rank": 256 + i, "token_bytes": []byte(token)})
	}
	pattern := cutO200K
	f := fields{"config": fields{"pattern": pattern, "default_vocab_size": 288, "default_num_special_tokens": 30}, "vocab": vocab}
	e := mustLoad(t, f)
	same(t, e.NewEncoder(Options{}), "abc<s>", 30+257, 30+'<', 30+'s', 30+'>')
	for text, want := range map[string]int32{"<s>": 1, "[TOOL_CONTENT]": 19, "<SPECIAL_29>": 29, "abc": 287} {
		if id, ok := e.ID(text); !ok || id != want {
			t.Errorf("%s is %d, %v, want %d", text, id, ok, want)
		}
	}
	if e.VocabSize() != 288 {
		t.Errorf("%d tokens, want 288", e.VocabSize())
	}
	f["special_tokens"] = []fields{{"rank": 3, "token_str": "[X]"}}
	if id, ok := mustLoad(t, f).ID("[X]"); !ok || id != 3 {
		t.Errorf("[X] is %d, %v, want 3", id, ok)
	}
	for name, config := range map[string]fields{
		"pattern":  {"pattern": "x+", "default_vocab_size": 288, "default_num_special_tokens": 30},
		"size":     {"pattern": pattern, "default_vocab_size": 1 << 30, "default_num_special_tokens": 30},
		"specials": {"pattern": pattern, "default_vocab_size": 1<<40 + 2, "default_num_special_tokens": 1 << 40},
	} {
		f["config"] = config
		raw, _ := json.Marshal(f)
		if _, err := Load(raw); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

const cutO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// TestRefusedParts: parts of a BPE that would give other tokens are refused.
func TestRefusedParts(t *testing.T) {
	bpe := func(change fields) fields {
		m := fields{"type": "BPE", "vocab": byteVocab("he"), "merges": []string{"h e"}}
		maps.Copy(m, change)
		return byteLevel(fields{"model": m, "added_tokens": nil})
	}
	metaspaces := func(model fields) fields {
		return fields{"pre_tokenizer": fields{"type": "Metaspace", "replacement": metaspace}, "model": model}
	}
	for name, f := range map[string]fields{
		"dropout":          bpe(fields{"dropout": 0.1}),
		"prefix":           bpe(fields{"continuing_subword_prefix": "##"}),
		"suffix":           bpe(fields{"end_of_word_suffix": "</w>"}),
		"a new field":      bpe(fields{"speed": "high"}),
		"pattern":          byteLevel(fields{"pre_tokenizer": fields{"type": "Split", "pattern": fields{"Regex": "x+"}, "behavior": "Isolated", "invert": false}}),
		"behavior":         byteLevel(fields{"pre_tokenizer": fields{"type": "Split", "pattern": fields{"Regex": `\p{N}`}, "behavior": "Removed", "invert": false}}),
		"added id":         byteLevel(fields{"added_tokens": []fields{{"id": 300, "content": "<s>"}}}),
		"after ByteLevel":  byteLevel(fields{"pre_tokenizer": fields{"type": "Sequence", "pretokenizers": []fields{{"type": "ByteLevel"}, {"type": "Digits"}}}}),
		"changes words":    byteLevel(fields{"pre_tokenizer": fields{"type": "Sequence", "pretokenizers": []fields{{"type": "Digits"}, {"type": "ByteLevel", "add_prefix_space": true}}}}),
		"no metaspace":     metaspaces(fields{"type": "BPE", "vocab": fields{"<0x41>": 0, "a": 1}, "merges": []string{}, "byte_fallback": true}),
		"no metaspace 2":   metaspaces(fields{"type": "Unigram", "vocab": [][]any{{"<unk>", 0}, {"a", -1}}, "unk_id": 0, "byte_fallback": true}),
		"no template text": byteLevel(fields{"post_processor": fields{"type": "TemplateProcessing", "single": []fields{}}}),
	} {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var u *UnsupportedError
		if _, err := Load(raw); !errors.As(err, &u) {
			t.Errorf("%s: got the error %v, want an UnsupportedError", name, err)
		}
	}
	for name, f := range map[string]fields{
		"a merge of nothing": bpe(fields{"merges": []string{"x yz"}}),
		"three parts":        bpe(fields{"merges": []string{"h e l"}}),
		"one id twice":       bpe(fields{"vocab": fields{"a": 1, "b": 1}}),
		"a huge id":          bpe(fields{"vocab": byteVocab(), "merges": nil, "unk_token": nil, "type": "BPE", "byte_fallback": false, "fuse_unk": false, "ignore_merges": false, "dropout": nil}),
		"no bytes":           bpe(fields{"vocab": fields{"a": 1}, "merges": nil}),
	} {
		if name == "a huge id" {
			f["model"].(fields)["vocab"].(map[string]int32)["x"] = 1<<31 - 1
		}
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(raw); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzLoad: damaged files have an error or make a tokenizer, and never panic.
func FuzzLoad(f *testing.F) {
	for _, file := range []fields{byteLevel(nil), sentencePiece(fields{"pre_tokenizer": fields{"type": "Metaspace", "replacement": "▁"}})} {
		raw, err := json.Marshal(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, "ab he▁")
	}
	f.Add([]byte(bertFile), "Unable 中!")
	f.Add([]byte(strings.Replace(unigramFile, "PRE", "null", 1)), "▁ab é")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		tokenizer, err := Load(raw)
		if err != nil {
			return
		}
		ids, err := tokenizer.NewEncoder(Options{CacheBytes: minCacheBytes, Template: true}).Append(nil, []byte(text))
		if err == nil && len(ids) > 0 && slices.Max(ids) > tokenizer.MaxID() {
			t.Errorf("%q has the token %d, the largest is %d", text, slices.Max(ids), tokenizer.MaxID())
		}
	})
}

// TestHugeNumbers: files with huge numbers allocate no more than others.
func TestHugeNumbers(t *testing.T) {
	mustLoad(t, byteLevel(nil)) // makes the tables that all share
	unigram := strings.Replace(unigramFile, "PRE", "null", 1)
	for name, file := range map[string]string{
		"id":              strings.Replace(bertFile, `"cafe": 5`, `"cafe": 2147483647`, 1),
		"unk_id":          strings.Replace(unigram, `"unk_id": 0`, `"unk_id": 9007199254740993`, 1),
		"added id":        strings.Replace(bertFile, `{`, `{"added_tokens": [{"id": 2147483647, "content": "x"}],`, 1),
		"charsmap":        strings.Replace(bertFile, `"BertNormalizer"`, `"Precompiled", "precompiled_charsmap": "8P///wAAAAA="`, 1),
		"vocab of Tekken": `{"config": {"pattern": "", "default_vocab_size": 9007199254740993, "default_num_special_tokens": 0}, "vocab": []}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Load([]byte(file)); err == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, n, len(file))
		}
	}
}

// TestDamage flips bits of files, and cuts them.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	raw, err := json.Marshal(sentencePiece(fields{"pre_tokenizer": fields{"type": "Metaspace", "replacement": "▁"}}))
	if err != nil {
		t.Fatal(err)
	}
	rounds := 2000
	if racetest.Enabled {
		rounds = 100
	}
	for range rounds {
		damaged := slices.Clone(raw)
		for range 1 + r.IntN(3) {
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
		}
		if r.IntN(4) == 0 {
			damaged = damaged[:r.IntN(len(damaged))]
		}
		if tokenizer, err := Load(damaged); err == nil {
			if _, err := tokenizer.NewEncoder(Options{CacheBytes: minCacheBytes}).Append(nil, []byte("ab abx é")); err != nil {
				t.Error(err)
			}
		}
	}
}
