package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// A rangeObject is an object of package web.
type rangeObject interface {
	shard.Object
	shard.RangeReader
}

// An object adds to errors what the service knows.
type object struct {
	rangeObject
	client client
	at     bucket.Location
	shard  shard.Shard
}

func (o *object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.wrap(ctx, o.rangeObject.ReadAt(ctx, p, off))
}

func (o *object) ReadRanges(ctx context.Context, ranges []shard.Range) error {
	return o.wrap(ctx, o.rangeObject.ReadRanges(ctx, ranges))
}

func (o *object) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, shard.ErrChanged) {
		err = o.explain(ctx, err)
	}
	return o.client.wrap("read", o.shard.URI, err)
}

// explain asks what the object is now when the server only said that it is another.
func (o *object) explain(ctx context.Context, err error) error {
	location, noURL := o.client.Object(o.at, "")
	if noURL != nil {
		return err
	}
	now, _, lookErr := o.client.web.Look(ctx, location)
	switch {
	case errors.Is(lookErr, shard.ErrNotExist):
		return lookErr
	case lookErr != nil || o.shard.Version == "" || now.Version == o.shard.Version && now.Size == o.shard.Size:
		return err
	}
	return fmt.Errorf("%w: was version %s of %d bytes, is %s of %d bytes", shard.ErrChanged, o.shard.Version, o.shard.Size, now.Version, now.Size)
}
