package hub

import (
	"context"

	"github.com/shardfeed/shardfeed/shard"
)

// A rangeObject is an object of package web.
type rangeObject interface {
	shard.Object
	shard.RangeReader
	shard.Chunked
}

// An object adds to errors what to try about an answer of the hub.
type object struct {
	rangeObject
	uri string
}

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.wrap(o.rangeObject.ReadAt(ctx, p, off))
}

func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	return o.wrap(o.rangeObject.ReadRanges(ctx, ranges))
}

func (o *object) wrap(err error) error {
	if err == nil {
		return nil
	}
	return wrap("read", o.uri, err)
}
