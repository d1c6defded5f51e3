package tokenize

import (
	"encoding/json"
	"errors"

	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// newModel reads the model of a file, and the tokens of its vocabulary.
func newModel(raw json.RawMessage, pre preTokenizer) (words.Model, []vocab.Token, error) {
	p, ok, err := newPart("model", raw)
	switch {
	case err != nil:
		return nil, nil, err
	case !ok:
		return nil, nil, errors.New("the file has no model")
	}
	switch p.kind {
	default:
		return nil, nil, unsupported(p.name, "its type is %q", p.kind)
	}
}
