package rowgroup

import (
	"context"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/petastorm"
)

// declare notes on binary columns how petastorm encodes them.
func (b *binding) declare(ctx context.Context) error {
	var d petastorm.Declared
	for _, part := range b.parts {
		if part.Table != nil {
			continue
		}
		if err := d.Add(ctx, b.store, part.Shards, part.Rename); err != nil {
			return err
		}
	}
	for _, c := range b.columns {
		if c.Field.Kind == column.Binary {
			c.Field.Encoding = d.Encodings[c.Field.Name]
		}
	}
	return nil
}
