package shard

import "context"

// A Store lists and opens the shards of one place: a local disk, a bucket, a name service.
// Its methods are safe for concurrent use.
type Store interface {
	// List returns the shards that one address names, sorted by URI: a file, all files below a
	// directory, or what a pattern matches. It never returns part of a list without an error, and
	// an address that names nothing is ErrNotExist.
	List(ctx context.Context, pattern string) ([]Shard, error)
	// Open opens one shard at the version that s carries, or any file of its size without one.
	// A shard that is no longer that version is
	// ErrChanged. Where a look at the shard costs a request, what is wrong with it (it changed, it
	// is gone, it may not be read) may come from the first read instead.
	Open(ctx context.Context, s Shard) (Object, error)
}

// An Object reads one shard at one version. ReadAt is safe for concurrent use; Close may be called
// twice.
type Object interface {
	// ReadAt fills all of p from byte off on, or returns an error; there are no partial reads. A
	// range that ends past the shard's size is an error that wraps io.ErrUnexpectedEOF, a shard
	// that changed under the reader is ErrChanged.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Close() error
}

// An Identifier is a Store that knows when two addresses name one shard.
type Identifier interface {
	// Identity returns the same text for all spellings of a shard's address.
	Identity(uri string) string
}

// An Instancer is a Store of files that others may replace; see Shard.Instance.
type Instancer interface {
	// Instance returns the current instance of the file at an address, or "".
	Instance(uri string) string
}

// A Pinner is a Store whose addresses may lead elsewhere later, such as to another commit of a branch.
type Pinner interface {
	// Pin returns the address of what an address or a pattern leads to now.
	Pin(ctx context.Context, pattern string) (string, error)
}

// Pin returns the address of what an address leads to now: itself, unless the store is a Pinner.
func Pin(ctx context.Context, store Store, pattern string) (string, error) {
	if p, ok := store.(Pinner); ok {
		return p.Pin(ctx, pattern)
	}
	return pattern, nil
}

// InstanceOf returns the current instance of an address, or "" if the store has none.
func InstanceOf(store Store, uri string) string {
	if i, ok := store.(Instancer); ok {
		return i.Instance(uri)
	}
	return ""
}

// A Nearby is a Store of servers whose shards may be on this machine too, such as downloads.
type Nearby interface {
	// OpenHere opens a shard that is on this machine. ok is false for others.
	OpenHere(ctx context.Context, s Shard) (o Object, ok bool)
}

// OpenHere opens a shard of a Nearby if it is on this machine.
func OpenHere(ctx context.Context, store Store, s Shard) (o Object, ok bool) {
	if n, nearby := store.(Nearby); nearby {
		return n.OpenHere(ctx, s)
	}
	return nil, false
}

// A Chunked is an Object of a store whose requests are scarcer than its bytes.
type Chunked interface {
	// Chunk is how many bytes to ask for at once, also if fewer are wanted now.
	Chunk() int64
}

// ChunkOf returns the Chunk of an object, or 0.
func ChunkOf(o Object) int64 {
	if c, ok := o.(Chunked); ok {
		return c.Chunk()
	}
	return 0
}

type mostKey struct{}

// WithMost returns a context for reads of a caller that wants most bytes of the shard in the end:
// a store whose requests are scarce may fetch the bytes around them too.
func WithMost(ctx context.Context) context.Context { return context.WithValue(ctx, mostKey{}, true) }

// WantsMost reports whether a context is of WithMost.
func WantsMost(ctx context.Context) bool { return ctx.Value(mostKey{}) != nil }

// Identity returns what store takes for the identity of an address: the address itself, cleaned,
// when it has no opinion.
func Identity(store Store, uri string) string {
	if i, ok := store.(Identifier); ok {
		return i.Identity(uri)
	}
	return normal(uri)
}
