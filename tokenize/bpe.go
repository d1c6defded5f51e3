package tokenize

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/tokenize/internal/bpe"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// bpeModel has the fields of a model of type BPE.
type bpeModel struct {
	typed
	Dropout      *float64         `json:"dropout"`
	Unknown      *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	FuseUnknown  bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       []merge          `json:"merges"`
}

// A merge is a pair of tokens: a list of two, or a string with a space between them.
type merge [2]string

// UnmarshalJSON implements [json.Unmarshaler].
func (m *merge) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		var pair []string
		if err := json.Unmarshal(raw, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("the merge %s has %d parts, want 2", raw, len(pair))
		}
		*m = merge(pair)
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	left, right, ok := strings.Cut(s, " ")
	if !ok || strings.Contains(right, " ") {
		return fmt.Errorf("the merge %q has not exactly one space", s)
	}
	*m = merge{left, right}
	return nil
}

// newBPE reads a model of type BPE.
func newBPE(p part, f form) (*bpe.Model, []vocab.Token, error) {
	var m bpeModel
	if err := p.read(&m); err != nil {
		return nil, nil, err
	}
	switch {
	case m.Dropout != nil && *m.Dropout > 0:
		return nil, nil, unsupported(p.name, "it has a dropout of %v, which makes the lengths of texts random", *m.Dropout)
	case m.Prefix != nil && *m.Prefix != "":
		return nil, nil, unsupported(p.name, "it has the continuing_subword_prefix %q", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return nil, nil, unsupported(p.name, "it has the end_of_word_suffix %q", *m.Suffix)
	}
	if _, ok := m.Vocab[metaspace]; m.ByteFallback && !ok {
		if err := f.fallback(p); err != nil {
			return nil, nil, err
		}
	}
	tokens, err := vocabulary(m.Vocab)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.name, err)
	}
	model, err := bpe.New(m.config(f))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return model, tokens, nil
}

// config returns the model with texts as words have them.
func (m *bpeModel) config(f form) bpe.Config {
	c := bpe.Config{
		Vocab: make(map[string]int32, len(m.Vocab)), Merges: make([][2]string, 0, len(m.Merges)),
		Bytes: f.bytes, Unknown: -1, FuseUnknown: m.FuseUnknown, Words: m.IgnoreMerges,
	}
	for text, id := range m.Vocab {
		if inside, ok := f.inside(text); ok {
			c.Vocab[inside] = id
		}
	}
	for _, pair := range m.Merges {
		left, ok := f.inside(pair[0])
		right, ok2 := f.inside(pair[1])
		if ok && ok2 { // no word has other texts
			c.Merges = append(c.Merges, [2]string{left, right})
		}
	}
	if m.Unknown != nil {
		if id, ok := m.Vocab[*m.Unknown]; ok {
			c.Unknown = id
		}
	}
	if m.ByteFallback && !f.bytes {
		c.ByteTokens = new([256]int32)
		for b := range c.ByteTokens {
			c.ByteTokens[b] = -1
			if id, ok := m.Vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
				c.ByteTokens[b] = id
			}
		}
	}
	return c
}

// vocabulary returns the tokens of a map, whose ids must differ.
func vocabulary(ids map[string]int32) ([]vocab.Token, error) {
	tokens := make([]vocab.Token, 0, len(ids))
	seen := make(map[int32]string, len(ids))
	for text, id := range ids {
		if other, ok := seen[id]; ok {
			return nil, fmt.Errorf("%q and %q have the id %d", text, other, id)
		}
		seen[id] = text
		tokens = append(tokens, vocab.Token{Text: text, ID: id})
	}
	return tokens, nil
}
