package tokenize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// file is a tokenizer.json.
type file struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

// Load reads a tokenizer.json. An UnsupportedError names a part that the package does not implement
// exactly; any other error means a damaged file.
func Load(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t, err := f.build()
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	sum := sha256.Sum256(data)
	t.digest = hex.EncodeToString(sum[:])
	return t, nil
}

func (f *file) build() (*Tokenizer, error) {
	t := &Tokenizer{}
	var err error
	if t.normalize, err = newNormalizers(f.Normalizer); err != nil {
		return nil, err
	}
	pre, err := newPreTokenizer(f.PreTokenizer)
	if err != nil {
		return nil, err
	}
	t.prepare, t.prepareFirst, t.cutter = pre.prepare, pre.prepareFirst, pre.cutter
	var tokens []vocab.Token
	if t.model, tokens, err = newModel(f.Model, pre); err != nil {
		return nil, err
	}
	if tokens, err = t.addTokens(f.Added, tokens); err != nil {
		return nil, err
	}
	t.tokens = vocab.New(tokens)
	t.template, err = newTemplate(f.PostProcessor, t.tokens)
	return t, err
}
