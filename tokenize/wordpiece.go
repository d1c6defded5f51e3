package tokenize

import (
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
	"github.com/shardfeed/shardfeed/tokenize/internal/wordpiece"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// wordPieceModel has the fields of a model of type WordPiece.
type wordPieceModel struct {
	typed
	Unknown  string           `json:"unk_token"`
	Prefix   string           `json:"continuing_subword_prefix"`
	MaxChars int              `json:"max_input_chars_per_word"`
	Vocab    map[string]int32 `json:"vocab"`
}

// newWordPiece reads a model of type WordPiece. With skipSpace, words of white space have no tokens.
func newWordPiece(p part, skipSpace bool) (words.Model, []vocab.Token, error) {
	var m wordPieceModel
	if err := p.read(&m); err != nil {
		return nil, nil, err
	}
	tokens, err := vocabulary(m.Vocab)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.name, err)
	}
	model, err := wordpiece.New(wordpiece.Config{Vocab: m.Vocab, Unknown: m.Unknown, Prefix: m.Prefix, MaxChars: m.MaxChars, SkipSpace: skipSpace})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return model, tokens, nil
}
