package tokenize

import (
	"encoding/json"
	"fmt"

	"github.com/shardfeed/shardfeed/tokenize/internal/unigram"
	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// unigramModel has the fields of a model of type Unigram.
type unigramModel struct {
	typed
	Unknown      *int          `json:"unk_id"`
	Vocab        []scoredToken `json:"vocab"`
	ByteFallback bool          `json:"byte_fallback"`
}

// A scoredToken is a list of a token and its score.
type scoredToken struct {
	text  string
	score float64
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *scoredToken) UnmarshalJSON(raw []byte) error {
	var score json.Number
	pair := []any{&t.text, &score}
	if err := json.Unmarshal(raw, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("the token %s has %d parts, want 2", raw, len(pair))
	}
	var err error
	t.score, err = unigram.ParseScore(score.String())
	return err
}

// newUnigram reads a model of type Unigram.
func newUnigram(p part, f form) (words.Model, []vocab.Token, error) {
	var m unigramModel
	if err := p.read(&m); err != nil {
		return nil, nil, err
	}
	if m.Unknown == nil {
		return nil, nil, unsupported(p.name, "it has no unk_id, so some texts have no tokens")
	}
	c := unigram.Config{Unknown: *m.Unknown, ByteFallback: m.ByteFallback}
	if f.spaces {
		c.Start = " "
	}
	tokens, ids := make([]vocab.Token, 0, len(m.Vocab)), make(map[string]int, len(m.Vocab))
	for id, t := range m.Vocab {
		if other, ok := ids[t.text]; ok && t.text != "" { // no text has an empty token
			return nil, nil, unsupported(p.name, "%q has the ids %d and %d", t.text, other, id)
		}
		ids[t.text] = id
		inside, ok := f.inside(t.text)
		if !ok {
			inside = "" // no word has it
		}
		c.Tokens, c.Scores = append(c.Tokens, inside), append(c.Scores, t.score)
		tokens = append(tokens, vocab.Token{Text: t.text, ID: int32(id)})
	}
	if _, ok := ids[metaspace]; m.ByteFallback && !ok {
		if err := f.fallback(p); err != nil {
			return nil, nil, err
		}
	}
	model, err := unigram.New(c)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return model, tokens, nil
}
