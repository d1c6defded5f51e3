package driver

import (
	"context"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// Check refuses a read of an object that is closed, of ranges that are not within it, or for a
// context that has ended.
func Check(ctx context.Context, closed bool, ranges []shard.Range, size int64) error {
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	if closed {
		return fs.ErrClosed
	}
	return shard.CheckRanges(ranges, size)
}

// ReadParts reads parts concurrently, at most atOnce at a time. The first error cancels the others,
// and all have ended when it returns. If ctx has ended, its error is returned.
func ReadParts(ctx context.Context, parts []Part, atOnce int, read func(ctx context.Context, p Part) error) error {
	probe := wait.ProbeOf(ctx) // sees pauses between requests too
	probe.Start()
	defer probe.End()
	if len(parts) == 1 {
		return read(ctx, parts[0])
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range parts {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return read(inner, p) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return cause.Of(ctx)
	}
	return err
}
