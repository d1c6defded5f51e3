package tokenize

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/racetest"
)

// Words of one character, marks on one character, and characters that NFC makes longer take memory
// in proportion to the text, no more than Needs, and leave it afterwards.
func TestNeeds(t *testing.T) {
	size, times := 1<<21, int64(1)
	if racetest.Enabled {
		size, times = 1<<18, 2 // slices.Grow allocates what it adds twice
	}
	model := fields{"type": "BPE", "vocab": byteVocab("aa", "aaaa", "ab", "aba"), "merges": []string{"a a", "aa aa", "a b", "ab a"}}
	for name, f := range map[string]fields{
		"BPE":           byteLevel(fields{"model": model, "added_tokens": nil}),
		"BPE, NFC":      byteLevel(fields{"model": model, "added_tokens": nil, "normalizer": fields{"type": "NFC"}}),
		"SentencePiece": sentencePiece(nil),
	} {
		tokenizer := mustLoad(t, f)
		for _, part := range []string{"aaaa", "abab", "    ", "a b ", "日日日日", "\u0301\u0316", "\u0958"} {
			e := tokenizer.NewEncoder(Options{CacheBytes: 1 << 20})
			text := []byte("q" + strings.Repeat(part, size/len(part)))
			dst, err := e.Append(make([]int32, 0, 4*size), text[:1+3*len(part)]) // first uses of tables
			if err != nil {
				t.Fatal(err)
			}
			took := allocated(func() { _, err = e.Append(dst, text) })
			if most := times * (Needs(text) - 9*int64(len(text))); took > most || err != nil { // its tokens are in dst
				t.Errorf("%s, %q: %d bytes of text took %d, want %d at most (%v)", name, part, len(text), took, most, err)
			}
			if m := e.Memory(); m > 2<<20 {
				t.Errorf("%s, %q: the encoder keeps %d bytes", name, part, m)
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
