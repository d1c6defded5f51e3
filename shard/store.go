package shard

import "context"

// A Store lists and opens the shards of one place: a local disk, a bucket, a name service.
// Its methods are safe for concurrent use.
type Store interface {
	// List returns the shards that the pattern names, sorted by URI. It never returns part of a list without an error.
	List(ctx context.Context, pattern string) ([]Shard, error)
	// Open opens one shard at the version that s carries. A shard that is no longer that version is ErrChanged.
	Open(ctx context.Context, s Shard) (Object, error)
}

// An Object reads one shard at one version. ReadAt is safe for concurrent use.
type Object interface {
	// ReadAt fills all of p from byte off on, or returns an error; there are no partial reads.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Close() error
}

// A Viewer is an Object that can lend its bytes without a copy. The bytes may be a mapping of a file: they are read-only, live until
// release is called, and touching them can fault when the file shrinks, so they are read only inside Guard.
type Viewer interface {
	View(off, n int64) (b []byte, release func(), err error)
}

// View borrows n bytes of o from off on, without a copy. ok is false when o cannot lend bytes.
func View(o Object, off, n int64) (b []byte, release func(), ok bool, err error) {
	v, ok := o.(Viewer)
	if !ok {
		return nil, nil, false, nil
	}
	b, release, err = v.View(off, n)
	return b, release, true, err
}
