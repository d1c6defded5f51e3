package hdfs

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/shard"
)

// A Store lists and opens files of HDFS. Make it with New, and Close it.
type Store struct {
	options Options
}

var (
	_ shard.Store    = (*Store)(nil)
	_ shard.Parallel = (*Store)(nil)
)

// New returns a store. It reads no file and opens no connection before its first use.
func New(o Options) *Store { return &Store{options: o.withDefaults()} }

// List returns the shards that an address or a pattern names; see shard.Walk.
func (s *Store) List(_ context.Context, pattern string) ([]shard.Shard, error) {
	return nil, &shard.Error{Op: "list", URI: pattern, Err: fmt.Errorf("%w: this program cannot reach HDFS yet", shard.ErrBadURI)}
}

// Open opens one file at the size and version that sh carries.
func (s *Store) Open(_ context.Context, sh shard.Shard) (shard.Object, error) {
	return nil, &shard.Error{Op: "open", URI: sh.URI, Err: fmt.Errorf("%w: this program cannot reach HDFS yet", shard.ErrBadURI)}
}

// Parallel is how many streams the store keeps at a time.
func (s *Store) Parallel(string) int { return s.options.Slots }

// Close closes all connections and waits for the store's goroutines.
func (s *Store) Close() error { return nil }
