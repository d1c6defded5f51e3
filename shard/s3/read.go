package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shardfeed/shardfeed/shard"
)

// skipSize is how many bytes of a hole are read at once.
const skipSize = 64 << 10

// read fills one part. A body that breaks is gone on with from the byte reached, by a request for the rest.
func (o *object) read(ctx context.Context, p part) error {
	var skipped []byte
	if len(p.ranges) > 1 {
		buffer := o.store.skips.Get().(*[skipSize]byte)
		defer o.store.skips.Put(buffer)
		skipped = buffer[:]
	}
	to := newScatter(p, skipped)
	patience := o.store.patience(o.at.bucket)
	for {
		c, err := o.store.get(ctx, o.at.bucket)
		if err != nil {
			return o.store.wrap(ctx, reading, o.shard.URI, nil, err)
		}
		before := to.off
		if err = o.readOnce(ctx, c, to); err == nil {
			return nil
		}
		if to.off > before {
			patience.progress()
		}
		if err = patience.again(ctx, c, err); err != nil {
			return o.store.wrap(ctx, reading, o.shard.URI, c, o.explainChange(ctx, c, err))
		}
	}
}

// readOnce asks for what is missing and takes what comes.
func (o *object) readOnce(ctx context.Context, c *client, to *scatter) error {
	r, race, err := o.ask(ctx, c, shard.Span{Off: to.off, N: to.end - to.off})
	if err != nil {
		return err
	}
	defer race.close()
	if err := o.check(r.out, to.off); err != nil {
		return err
	}
	for !to.done() {
		n, err := r.read(to.next())
		to.took(n)
		o.store.counts.readBytes.Add(int64(n))
		switch {
		case to.done():
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the answer ended %d bytes early: %w", to.end-to.off, io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
	}
	c.window.Done()
	return nil
}
