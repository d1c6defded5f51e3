package shardfeed

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize"
	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// openText opens the shop with tokens of titles.
func openText(t *testing.T, h *Host, s Spec, tok Tokenizer) (*Dataset, error) {
	t.Helper()
	s.Addresses, s.Columns, s.Tokenize, s.NoCache, s.IndexDir = []string{"testdata/shop"}, []string{"title"}, map[string]Tokenizer{"title": tok}, true, t.TempDir()
	d, err := h.Open(t.Context(), s, Events{})
	if err == nil {
		t.Cleanup(func() {
			if err := d.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	return d, err
}

// A tokenizer is the same by its path, by its content, and as a library writes it, and all data sets
// of a host share its tables. Ranks compare what it does, and not where it is.
func TestTokenizerForms(t *testing.T) {
	dir, content := t.TempDir(), tokenizetest.File("t h")
	var indented, packed bytes.Buffer
	if err := json.Indent(&indented, content, "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), indented.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	h := NewHost(nil)
	var first *tokenize.Tokenizer
	var chosen string
	for name, tok := range map[string]Tokenizer{
		"path": {File: "a.json"}, "absolute path": {File: filepath.Join(dir, "a.json")}, "content": {Content: content}, "compressed": {Content: packed.Bytes(), Specials: "parse"},
	} {
		d, err := openText(t, h, Spec{Directory: dir}, tok)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if first == nil {
			first, chosen = d.tokenizers["title"].Tokenizer, d.Chosen()["Tokenize"]
		}
		if got := d.Chosen()["Tokenize"]; d.tokenizers["title"].Tokenizer != first || got != chosen || !strings.Contains(got, first.Fingerprint()) {
			t.Errorf("%s: tokens are chosen by %s, want %s", name, got, chosen)
		}
	}
	for name, tok := range map[string]Tokenizer{"another file": {Content: tokenizetest.File("e n")}, "specials": {Content: content, Specials: "text"}, "template": {Content: content, Template: true}, "max_tokens": {Content: content, MaxTokens: 9}} {
		d, err := openText(t, h, Spec{}, tok)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Chosen()["Tokenize"]; got == chosen {
			t.Errorf("%s: tokens are chosen by %s too", name, got)
		}
	}
}

// A packing may name tokens by their texts.
func TestPackTokensByText(t *testing.T) {
	h, content := NewHost(nil), tokenizetest.File()
	by := func(p Pack) string {
		p.Columns = map[string]int{"title": 64}
		d, err := openText(t, h, Spec{Pack: &p}, Tokenizer{Content: content})
		if err != nil {
			t.Fatal(err)
		}
		return d.Rule()
	}
	id := int64(256)
	if named, numbered := by(Pack{EOSText: tokenizetest.Special, BOSText: "a", ValueText: "b"}), by(Pack{EOS: &id, BOS: new(int64('a')), Value: new(int64('b'))}); named != numbered {
		t.Errorf("rule %s by texts, %s by numbers", named, numbered)
	}
	special, a := Token{Text: tokenizetest.Special}, Token{ID: 'a'}
	named, numbered := &FillInTheMiddle{Rate: 1, Prefix: special, Middle: a, Suffix: Token{Text: "b"}}, &FillInTheMiddle{Rate: 1, Prefix: Token{ID: id}, Middle: a, Suffix: Token{ID: 'b'}}
	plain, one, other := by(Pack{EOSText: "c"}), by(Pack{EOSText: "c", FIM: named}), by(Pack{EOSText: "c", FIM: numbered})
	if one != other || one == plain {
		t.Errorf("rule %s by texts, %s by numbers, %s without", one, other, plain)
	}
	for text, tok := range map[string]Tokenizer{"does not have": {Content: content}, "leave one of the two out": {Content: content, Template: true}} {
		_, err := openText(t, h, Spec{Pack: &Pack{Columns: map[string]int{"title": 64}, EOSText: "<none>"}}, tok)
		var e *OptionError
		if !errors.As(err, &e) || e.Field != "Pack" || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

// Tokens in JSON are numbers or texts.
func TestTokenJSON(t *testing.T) {
	var f FillInTheMiddle
	text := `{"rate":0.5,"spm_rate":0,"prefix":"<pre>","middle":7,"suffix":-1,"boundaries":["<file>",9]}`
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(f); string(b) != strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(text) {
		t.Errorf("%s became %s (%v)", text, b, err)
	}
	for _, wrong := range []string{`""`, `1.5`, `{}`} {
		if err := json.Unmarshal([]byte(wrong), &f.Prefix); err == nil {
			t.Errorf("%s is a token", wrong)
		}
	}
}
