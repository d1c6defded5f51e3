package tokenize

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// bombs are parts of texts that become one word, many symbols or many characters.
var bombs = []string{
	"aaaa", "abab", "    ", "a b ", "7", "ab7! ", "<s>", "\n", "日本", "한글", "\u1112\u1161\u11ab", "\u1161",
	"\u0301\u0316", "a\u0301\u0316", "\u0958", "\ufdfa", "\ufdfaa", "\u3300", "\U0001d160", "\u0130", "①", "\u2581",
}

// memoryNormalizers are normalizers of files.
func memoryNormalizers() map[string]any {
	replace := func(pattern fields, with string) fields {
		return fields{"type": "Replace", "pattern": pattern, "content": with}
	}
	nfkc := fields{"type": "NFKC"}
	bert := fields{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": true, "lowercase": true}
	return map[string]any{
		"no": nil, "NFC": fields{"type": "NFC"}, "NFD": fields{"type": "NFD"}, "NFKC": nfkc, "NFKD": fields{"type": "NFKD"}, "Bert": bert,
		"Lowercase": fields{"type": "Lowercase"}, "StripAccents": fields{"type": "StripAccents"},
		"Strip":       fields{"type": "Strip", "strip_left": true, "strip_right": true},
		"Prepend":     fields{"type": "Prepend", "prepend": "P" + strings.Repeat("x", 100_000)},
		"Precompiled": fields{"type": "Precompiled", "precompiled_charsmap": memoryCharsmap()},
		"Replace":     replace(fields{"String": "a"}, "0123456789"),
		"runs":        replace(fields{"Regex": ` {2,}`}, strings.Repeat("x", 100_000)),
		"all": fields{"type": "Sequence", "normalizers": []fields{
			nfkc, {"type": "NFD"}, replace(fields{"String": "\u0627"}, "\ufdfa"), nfkc, bert, replace(fields{"String": " "}, "▁▁"),
		}},
	}
}

// memoryCharsmap maps all text that starts with the byte of a, or with the first byte of 日, to 33
// bytes.
func memoryCharsmap() []byte {
	const children, leaf, units = 256, 512, 1024
	trie := make([]uint32, units)
	trie[0] = children << 10
	for _, b := range []byte{'a', "日"[0]} {
		at := children ^ uint32(b)
		trie[at] = (at^leaf)<<10 | 1<<8 | uint32(b)
	}
	trie[leaf] = 1 << 31
	data := binary.LittleEndian.AppendUint32(nil, 4*units)
	for _, unit := range trie {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return append(data, "the text of a character, 33 bytes\x00"...)
}

// memoryFiles are files of each kind of model.
func memoryFiles(t *testing.T) map[string]fields {
	model := fields{"type": "BPE", "vocab": byteVocab("aa", "aaaa", "ab", "aba"), "merges": []string{"a a", "aa aa", "a b", "ab a"}}
	metaspace := fields{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}
	all := map[string]fields{
		"BPE":           byteLevel(fields{"model": model, "added_tokens": []fields{{"id": 260, "content": "<s>", "normalized": true}}}),
		"SentencePiece": sentencePiece(nil),
		"Metaspace":     sentencePiece(fields{"pre_tokenizer": metaspace}),
	}
	unigram := strings.Replace(unigramFile, "PRE", `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]}`, 1)
	unigram = strings.Replace(unigram, `["b", -2]`, `["b", -2], ["a", -2], ["aa", -2.5], ["ba", -2.5]`, 1)
	for name, text := range map[string]string{"Unigram": unigram, "WordPiece": bertFile} {
		var f fields
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		all[name] = f
	}
	return all
}

// An encoder allocates no more for a text than it asks for before, whatever normalizers make of
// it, and keeps none of it.
func TestEncoderAsks(t *testing.T) {
	files, size := memoryFiles(t), 1<<16
	if racetest.Enabled {
		files, size = map[string]fields{"BPE": files["BPE"], "Unigram": files["Unigram"]}, 1<<12
	}
	for model, f := range files {
		for name, normalizer := range memoryNormalizers() {
			f["normalizer"] = normalizer
			tokenizer := mustLoad(t, f)
			for _, part := range bombs {
				testAsks(t, tokenizer, fmt.Sprintf("%s, %s normalizer, %q", model, name, part), []byte("q"+strings.Repeat(part, size/len(part))))
			}
		}
	}
}

// encoderMost is the memory that an encoder may take without asking, beside its cache.
const encoderMost = 1 << 20

func testAsks(t *testing.T, tokenizer *Tokenizer, name string, text []byte) {
	t.Helper()
	e := tokenizer.NewEncoder(Options{CacheBytes: minCacheBytes})
	if _, err := e.Count([]byte("q")); err != nil { // first uses of tables
		t.Fatal(err)
	}
	asked := int64(0)
	e.Allow(func(bytes int64) { asked = max(asked, bytes) })
	var err error
	took := allocated(func() { _, err = e.Count(text) })
	if took > asked+encoderMost || err != nil {
		t.Errorf("%s: %d bytes of text took %d, %d were asked for (%v)", name, len(text), took, asked, err)
	}
	if m := e.Memory(); m > minCacheBytes+encoderMost {
		t.Errorf("%s: the encoder keeps %d bytes", name, m)
	}
}

// Ordinary text, here with a token for each byte, takes no more because other text could.
func TestAsksForOrdinaryText(t *testing.T) {
	text := []byte(strings.Repeat("It wasn't the café, nor 日本語; 1,234 ways! ", 1<<14))
	for model, f := range memoryFiles(t) {
		for _, name := range []string{"no", "NFC", "NFKC", "NFKD"} {
			f["normalizer"] = memoryNormalizers()[name]
			asked, e := int64(0), mustLoad(t, f).NewEncoder(Options{})
			e.Allow(func(bytes int64) { asked = bytes })
			n, err := e.Count(text)
			if most := int64(20 * len(text)); asked > most || err != nil {
				t.Errorf("%s, %s normalizer: %d tokens of %d bytes asked for %d (%v)", model, name, n, len(text), asked, err)
			}
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A million added tokens take no more memory than Memory counts, and a text with them has them.
func TestManyAddedTokens(t *testing.T) {
	n := 1_000_000
	if racetest.Enabled {
		n = 50_000
	}
	var file bytes.Buffer
	fmt.Fprintf(&file, `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [`)
	for i := range n {
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, `{"id": %d, "content": "<%07d>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}`, i+1, i)
	}
	file.WriteString("]}")
	before := live()
	tokenizer, err := Load(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if took := live() - before; took > tokenizer.Memory()+1<<20 {
		t.Errorf("%d added tokens take %d bytes, and %d are counted", n, took, tokenizer.Memory())
	}
	e := tokenizer.NewEncoder(Options{})
	if got, err := e.Count([]byte(strings.Repeat("<0000041><00000", 1<<14))); got != 1<<14 || err != nil {
		t.Errorf("%d tokens, want %d (%v)", got, 1<<14, err)
	}
	runtime.KeepAlive(&file)
}

// live returns the bytes of the heap that are in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
