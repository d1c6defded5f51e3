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
		if f.skipSpace {
			return nil, nil, unsupported("pre_tokenizer", "it drops white space before a model of type BPE")
		}
		return newBPE(p, f)
	case "Unigram":
		if f.skipSpace || f.bytes {
			return nil, nil, unsupported("pre_tokenizer", "it drops white space or writes bytes before a model of type Unigram")
		}
		return newUnigram(p, f)
	case "WordPiece":
		if f.bytes {
			return nil, nil, unsupported("pre_tokenizer", "it writes bytes before a model of type WordPiece")
		}
		return newWordPiece(p, f.skipSpace)
	}
	return nil, nil, unsupported(p.name, "its type is %q", p.kind)
}

// model returns the part of the model.
func (f *file) model() (part, error) {
	p, ok, err := newPart("model", f.Model)
	if err == nil && !ok {
		err = errors.New("the file has no model; files named config.json, tokenizer_config.json and vocab.json are others of the same directory")
	}
	return p, err
}
