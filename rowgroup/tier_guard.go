package rowgroup

import (
	"errors"

	"github.com/shardfeed/shardfeed/shard"
)

// Guard runs f, which gathers from blocks. Blocks may lie in an image, a mapped file: where it
// cannot be read any more, since another program cut it or its disk fails, the error says so.
func Guard(blocks []*Block, f func() error) error {
	var mapped *Block
	for _, b := range blocks {
		if b.lease != nil {
			mapped = b
			break
		}
	}
	if mapped == nil {
		return f()
	}
	err := shard.Guard(f)
	if errors.Is(err, shard.ErrChanged) {
		return &Error{
			Op: "gather", URI: mapped.uri, RowGroup: mapped.rowGroup, Page: -1, Err: err,
			Hint: "the cache's file of decoded rows changed while it was used; start again from the last state",
		}
	}
	return err
}
