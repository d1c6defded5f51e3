package s3

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// read fills one part. If a body breaks, another request starts at the byte reached.
func (o *object) read(ctx context.Context, p driver.Part) error {
	to := driver.NewFill(p)
	defer to.Close()
	tries := o.store.newTries(o.at.bucket)
	for {
		c, err := o.store.get(ctx, o.at.bucket)
		if err != nil {
			return o.store.wrap(ctx, reading, o.shard.URI, nil, err)
		}
		before := to.Off()
		if err = o.confirm(ctx, c, o.readOnce(ctx, c, to)); err == nil {
			return nil
		}
		if to.Off() > before {
			tries.Progress()
		}
		if err = tries.again(ctx, c, err); err != nil {
			return o.store.wrap(ctx, reading, o.shard.URI, c, o.explainChange(ctx, c, err))
		}
	}
}

// readOnce asks for what is missing and takes what comes.
func (o *object) readOnce(ctx context.Context, c *client, to *driver.Fill) (err error) {
	r, race, err := o.ask(ctx, c, shard.Span{Off: to.Off(), N: to.Left()})
	if err != nil {
		return err
	}
	defer func() {
		r.measured.End(err)
		race.close()
	}()
	if err := o.check(r.out, to.Off(), to.Left()); err != nil {
		return err
	}
	for p := to.Next(); p != nil; p = to.Next() {
		n, err := r.read(p)
		to.Took(n)
		r.measured.Took(n)
		switch {
		case to.Left() == 0:
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the answer ended %d bytes early: %w", to.Left(), io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
	}
	c.window.Done()
	return nil
}
