package shardfeed

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/tokenize/tokenizetest"
)

// A file of tiktoken is the same by the name of its pattern and by the expression. Packings know
// its special tokens.
func TestTiktokenForms(t *testing.T) {
	var file strings.Builder
	for b := range 256 {
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b)
	}
	content := []byte(file.String())
	path := filepath.Join(t.TempDir(), "ranks.tiktoken")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	h, chosen := NewHost(nil), map[string]bool{}
	expression := `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
	tokens := map[string]int32{"<|endoftext|>": 256}
	for _, tok := range []Tokenizer{{File: path, Pattern: "cl100k_base", SpecialTokens: tokens}, {Content: content, Pattern: expression, SpecialTokens: tokens}} {
		d, err := openText(t, h, Spec{Pack: &Pack{Columns: map[string]int{"title": 8}, EOSText: "<|endoftext|>"}}, tok)
		if err != nil {
			t.Fatal(err)
		}
		chosen[d.Chosen()["Tokenize"]] = true
	}
	for _, tok := range []Tokenizer{{File: path, Pattern: "llama3"}, {File: path, Pattern: "cl100k_base", SpecialTokens: map[string]int32{"<s>": 256}}} {
		d, err := openText(t, h, Spec{}, tok)
		if err != nil {
			t.Fatal(err)
		}
		chosen[d.Chosen()["Tokenize"]] = true
	}
	if len(chosen) != 3 {
		t.Errorf("tokens are chosen by %v", chosen)
	}
	for want, tok := range map[string]Tokenizer{
		"name its pattern, such as cl100k_base":  {File: path},
		`the pattern is "gpt9"`:                  {File: path, Pattern: "gpt9"},
		"need the pattern of a file of tiktoken": {Content: tokenizetest.File(), SpecialTokens: tokens},
	} {
		if _, err := openText(t, h, Spec{}, tok); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
}
