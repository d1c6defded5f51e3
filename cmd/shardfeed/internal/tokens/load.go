package tokens

import (
	"context"
	"errors"
	"strings"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/tokenize"
)

// Load reads a tokenizer by its path or its address.
func Load(ctx context.Context, stores shard.Store, of shardfeed.Tokenizer) (*tokenize.Tokenizer, error) {
	t, err := of.Load(ctx, stores)
	if err == nil {
		return t, nil
	}
	kind := "tokenizer.json:"
	if of.Pattern != "" {
		kind = "tiktoken:"
	}
	if text, found := strings.CutPrefix(err.Error(), kind); found {
		return nil, errors.New(shard.Redact(of.File) + ":" + text)
	}
	return nil, err
}
