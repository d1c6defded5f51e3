package tokenize

import (
	"errors"

	"github.com/shardfeed/shardfeed/tokenize/internal/vocab"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// newModel reads the model of a file, and the tokens of its vocabulary.
func newModel(p part, f form) (words.Model, []vocab.Token, error) {
	switch p.kind {
	case "BPE":
		return newBPE(p, f)
	}
	return nil, nil, unsupported(p.name, "its type is %q", p.kind)
}

// model returns the part of the model.
func (f *file) model() (part, error) {
	p, ok, err := newPart("model", f.Model)
	if err == nil && !ok {
		err = errors.New("the file has no model")
	}
	return p, err
}
