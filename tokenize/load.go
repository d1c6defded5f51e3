package tokenize

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/tokenize/internal/bpe"
	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
	"github.com/shardfeed/shardfeed/tokenize/internal/normal"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// file is a tokenizer.json.
type file struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
	Config        json.RawMessage `json:"config"` // of Tekken
	Vocab         json.RawMessage `json:"vocab"`
}

// Load reads a tokenizer.json, or the JSON file of Mistral's Tekken. An UnsupportedError names a part
// that the package does not implement exactly; any other error means a damaged file.
func Load(data []byte) (*Tokenizer, error) {
	t, err := load(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	t.digest = digest(data)
	return t, nil
}

func load(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, wrongFormat(data, err)
	}
	if f.Model == nil && f.Config != nil && f.Vocab != nil {
		return newTekken(data)
	}
	return f.build()
}

// digest returns the SHA-256 of a file, followed by what else a tokenizer was made of.
func digest(data []byte, more ...[]byte) string {
	h := sha256.New()
	h.Write(data)
	for _, p := range more {
		fmt.Fprintf(h, "\n%d\n%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (f *file) build() (*Tokenizer, error) {
	model, err := f.model()
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	if t.normalize, err = newNormalizers(f.Normalizer); err != nil {
		return nil, err
	}
	form, mark := form{}, metaspace
	if model.kind != "WordPiece" {
		if form.spaces, err = f.spaces(t); err != nil {
			return nil, err
		}
	}
	if form.spaces {
		mark = " "
	}
	pre, err := newPreTokenizer(f.PreTokenizer, mark)
	if err != nil {
		return nil, err
	}
	form.bytes, form.skipSpace = pre.bytes, pre.skipSpace
	if len(pre.prepare) != len(pre.prepareFirst) && slices.ContainsFunc(t.normalize, removes) {
		return nil, unsupported("pre_tokenizer", "its Metaspace starts only texts whose start no normalizer removes")
	}
	t.form = form
	if t.parts, err = f.describe(); err != nil {
		return nil, err
	}
	t.prepare, t.prepareFirst = pre.prepare, pre.prepareFirst
	if t.cutter, err = pre.cutter(); err != nil {
		return nil, err
	}
	var tokens []vocab.Token
	if t.model, tokens, err = newModel(model, form); err != nil {
		return nil, err
	}
	t.divide()
	if tokens, err = t.addTokens(f.Added, tokens); err != nil {
		return nil, err
	}
	if t.tokens, err = vocab.New(tokens); err != nil {
		return nil, err
	}
	t.template, err = newTemplate(f.PostProcessor, t.tokens)
	return t, err
}

// spaces reports whether all spaces become metaspaces before a text reaches the model. If the last
// normalizer does this, it is changed to make spaces of metaspaces.
func (f *file) spaces(t *Tokenizer) (bool, error) {
	parts, err := preTokenizers(f.PreTokenizer)
	if err != nil {
		return false, err
	}
	bytes := slices.ContainsFunc(parts, func(p part) bool { return p.kind == "ByteLevel" })
	if slices.ContainsFunc(f.Added, func(a addedToken) bool { return a.Normalized && (a.LStrip || a.RStrip) }) {
		return false, nil // such a token takes the spaces around it, and leaves metaspaces
	}
	if n := len(t.normalize); n > 0 && t.normalize[n-1] == rewriter(normal.Replace{Old: " ", New: metaspace}) && !bytes {
		t.normalize[n-1] = spacesTo(" ")
		// A metaspace that was put before the text would be looked for again.
		if n > 1 && t.normalize[n-2] == rewriter(normal.Prepend{Text: metaspace}) {
			t.normalize[n-2], t.normalize[n-1] = t.normalize[n-1], normal.Prepend{Text: " "}
		}
		return true, nil
	}
	return len(parts) > 0 && parts[0].kind == "Metaspace" && !bytes, nil
}

// divide cuts a text that is one word, if the model allows it.
func (t *Tokenizer) divide() {
	if m, ok := t.model.(*bpe.Model); ok && t.cutter == cut.Cutter(cut.Whole{}) {
		if d, ok := m.Divider(); ok {
			t.cutter = d
		}
	}
}
