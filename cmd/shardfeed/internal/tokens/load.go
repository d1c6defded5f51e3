package tokens

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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
	if errors.Is(err, fs.ErrNotExist) && path.Ext(of.File) == "" {
		return nil, fmt.Errorf("%w; to use a name of the Hugging Face Hub, download the tokenizer.json of the model", err)
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
