package cache

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A Cache is one process's use of a cache directory. Its methods are safe for concurrent use.
type Cache struct {
	options Options
	counters
}

// Open opens the cache in o.Dir, which is made if need be. A directory that cannot hold one is an error that wraps ErrUnfit and says why.
func Open(o Options) (*Cache, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Cache{options: o.withDefaults()}, nil
}

// Wrap returns a store that serves from the cache what it holds and fills it with what inner is asked for.
func (c *Cache) Wrap(inner shard.Store) shard.Store { return inner }

// Fill fetches what is missing of the spans of a shard; it is on the disk when Fill returns. Progress, if set, is told bytes of the spans as
// they are there. A Fill that finds no room returns ErrFull.
func (c *Cache) Fill(ctx context.Context, inner shard.Store, s shard.Shard, spans []shard.Span, progress func(n int64)) (fetched int64, err error) {
	return 0, errors.ErrUnsupported
}

// Held is how many bytes of the spans are there, by the table of the shard's file.
func (c *Cache) Held(inner shard.Store, s shard.Shard, spans []shard.Span) (int64, error) {
	return 0, nil
}

// KeepFor sets how long a shard is kept after a use from now on. A job that knows how long its epochs take gives twice that.
func (c *Cache) KeepFor(d time.Duration) {}

// Stats returns the counts so far.
func (c *Cache) Stats() Stats { return c.stats() }

// Close finishes the fills that wait for the disk, but no longer than 10 s, and closes everything. Reads pass through from then on.
func (c *Cache) Close(ctx context.Context) error { return nil }

// DefaultLimit is the limit of a cache in dir when the user gives none.
func DefaultLimit(dir string) (int64, error) { return 0, errors.ErrUnsupported }

// ParseLimit reads a limit as users write it: "100GiB", "50%".
func ParseLimit(s, dir string) (int64, error) { return 0, errors.ErrUnsupported }

// List returns what the cache in dir holds, sorted by URI.
func List(ctx context.Context, dir string) ([]Entry, error) { return nil, errors.ErrUnsupported }

// Usage returns how much room the cache in dir takes.
func Usage(dir string) (Space, error) { return Space{}, errors.ErrUnsupported }

// Verify reads all that the cache in dir holds.
func Verify(ctx context.Context, dir string, progress func(n int64)) (Report, error) {
	return Report{}, errors.ErrUnsupported
}

// Collect removes from the cache in dir what o says.
func Collect(ctx context.Context, dir string, o CollectOptions) (Freed, error) {
	return Freed{}, errors.ErrUnsupported
}

// Clear removes all that the cache in dir holds and nobody reads now.
func Clear(ctx context.Context, dir string) (Freed, error) { return Freed{}, errors.ErrUnsupported }
