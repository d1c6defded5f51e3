package tokenize

import (
	"strings"
	"testing"
)

// A file that is not a tokenizer.json is named for what it is.
func TestLoadNamesOtherFiles(t *testing.T) {
	whole := `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`
	for data, want := range map[string]string{
		"":                          "the file is empty",
		" \n":                       "the file is empty",
		whole[:30]:                  "the file is not complete: unexpected end of JSON input",
		`{"model": }`:               "the file is not JSON: invalid character",
		"[1, 2]":                    "the file is not a tokenizer's: its content is a JSON array",
		`{"added_tokens": 3}`:       "the file is not a tokenizer's: added_tokens is a JSON number",
		`{"model_type": "bert"}`:    "the file has no model; files named config.json",
		"\x0a\x0e\x0a\x05<unk>\x15": "of a SentencePiece model, write a tokenizer.json with transformers",
		"IQ== 0\nIg== 1\n":          "as files of tiktoken have: name its pattern, such as cl100k_base, ",
		"version https://git-lfs.github.com/spec/v1\noid sha256:1\n": "git lfs pull",
		"<!doctype html><html>": "a page for browsers",
		"gpt2":                  "the file is not JSON: invalid character",
	} {
		_, err := Load([]byte(data))
		if err == nil || !strings.HasPrefix(err.Error(), "tokenizer.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", data, err, want)
		}
	}
}
