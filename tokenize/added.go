package tokenize

import (
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/added"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
)

// addedToken is an element of added_tokens.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addTokens makes the sets of added tokens, and returns all tokens: the model's, then the added
// ones that it lacks. tokenizers ignores the ids of added_tokens: it takes the model's, or
// counts on from the last. A file where these are other ids is refused.
func (t *Tokenizer) addTokens(list []addedToken, tokens []vocab.Token) ([]vocab.Token, error) {
	ids := make(map[string]int32, len(tokens))
	for _, token := range tokens {
		ids[token.Text] = token.ID
	}
	var raw, normalized []added.Token
	last, size := int32(-1), int32(len(tokens)) // last is the largest id of an added token
	seen := map[string]bool{}
	for _, a := range list {
		if a.Content == "" {
			continue
		}
		if seen[a.Content] {
			return nil, unsupported("added_tokens", "%q is there twice", a.Content)
		}
		seen[a.Content] = true
		id, known := ids[a.Content]
		if !known {
			id = max(last+1, size)
			tokens = append(tokens, vocab.Token{Text: a.Content, ID: id})
		}
		if id != a.ID {
			return nil, unsupported("added_tokens", "%q has the id %d in the file, and %d in tokenizers", a.Content, a.ID, id)
		}
		last = max(last, id)
		token := added.Token{ID: id, Text: a.Content, SingleWord: a.SingleWord, LStrip: a.LStrip, RStrip: a.RStrip, Special: a.Special}
		if !a.Normalized {
			raw = append(raw, token)
			continue
		}
		norm := stage{rewriters: t.normalize}
		token.Text = string(norm.apply([]byte(token.Text)))
		if token.Text == "" {
			return nil, fmt.Errorf("added_tokens: %q is empty after normalization", a.Content)
		}
		normalized = append(normalized, token)
	}
	t.raw, t.normalized = added.NewSet(raw), added.NewSet(normalized)
	return tokens, nil
}
