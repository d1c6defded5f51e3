package tokenize

import (
	"encoding/json"

	"github.com/shardfeed/shardfeed/tokenize/internal/cut"
)

// A preTokenizer cuts a normalized text into words.
type preTokenizer struct {
	prepare      []rewriter
	prepareFirst []rewriter // for the start of a document
	cutter       cut.Cutter
	bytes        bool // ByteLevel: the model's symbols are bytes
}

// newPreTokenizer reads the pre-tokenizer of a file.
func newPreTokenizer(raw json.RawMessage) (preTokenizer, error) {
	p, ok, err := newPart("pre_tokenizer", raw)
	if err != nil || !ok {
		return preTokenizer{cutter: cut.Whole{}}, err
	}
	parts, err := p.flatten("pretokenizers")
	if err != nil {
		return preTokenizer{}, err
	}
	return preTokenizer{}, parts[0].unsupported()
}
