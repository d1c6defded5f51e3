package tokens

import (
	"errors"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/tokenize"
)

// Load reads the file of a tokenizer. With a pattern it is one of tiktoken.
func Load(name, pattern string) (t *tokenize.Tokenizer, err error) {
	raw, err := regular.ReadFile(name)
	if err != nil {
		return nil, err
	}
	kind := "tokenizer.json"
	if t, err = tokenize.Load(raw); pattern != "" {
		kind = "tiktoken"
		t, err = tokenize.LoadTiktoken(raw, tokenize.Tiktoken{Pattern: pattern})
	}
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), kind, name, 1))
	}
	return t, nil
}
