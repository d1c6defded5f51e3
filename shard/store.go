package shard

import (
	"context"
	"errors"
)

// A Store lists and opens the shards of one place: a local disk, a bucket, a name service.
// Its methods are safe for concurrent use.
type Store interface {
	// List returns the shards that one address names, sorted by URI: a file, all files below a directory, or what a pattern matches.
	// It never returns part of a list without an error, and an address that names nothing is ErrNotExist.
	List(ctx context.Context, pattern string) ([]Shard, error)
	// Open opens one shard at the version that s carries. A shard that is no longer that version is ErrChanged. Where a look at the shard
	// costs a request, what is wrong with it (it changed, it is gone, it may not be read) may come from the first read instead.
	Open(ctx context.Context, s Shard) (Object, error)
}

// An Object reads one shard at one version. ReadAt is safe for concurrent use; Close may be called twice.
type Object interface {
	// ReadAt fills all of p from byte off on, or returns an error; there are no partial reads. A range that ends past the shard's size
	// is an error that wraps io.ErrUnexpectedEOF, a shard that changed under the reader is ErrChanged.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Close() error
}

// A Viewer is an Object that can lend its bytes without a copy. The bytes may be a mapping of a file: they are read-only, live until
// release is called (also after Close), and touching them can fault when the file shrinks, so they are read only inside Guard or Use.
type Viewer interface {
	// View lends n bytes from off on. Release may be called twice. An object that wraps another and finds that it lends nothing
	// returns errors.ErrUnsupported.
	View(off, n int64) (b []byte, release func(), err error)
}

// View borrows n bytes of o from off on, without a copy. ok is false when o cannot lend bytes.
func View(o Object, off, n int64) (b []byte, release func(), ok bool, err error) {
	v, ok := o.(Viewer)
	if !ok {
		return nil, nil, false, nil
	}
	b, release, err = v.View(off, n)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil, false, nil
	}
	return b, release, true, err
}

// A Rechecker is a Viewer whose bytes are to be believed only when Recheck says so: after they were used, and before the view is released. What was
// made of bytes that were damaged, an error included, is thrown away.
type Rechecker interface {
	// Recheck verifies used, which lies within lent: the bytes of a view that is not released, as they were lent. Its error wraps ErrCorrupt.
	// What is used is best verified bit by bit, while it lies in the processor's caches; a few hundred kilobytes are worth a call.
	Recheck(lent, used Span) error
}

// Recheck verifies some of what o lent, where o can.
func Recheck(o Object, lent, used Span) error {
	if c, ok := o.(Rechecker); ok {
		return c.Recheck(lent, used)
	}
	return nil
}

// A Forgetter is a Viewer that can give back the memory of a view's bytes before the whole view is released.
type Forgetter interface {
	// Forget is told of bytes of a view that is not released, which will hardly be touched again. They stay readable.
	Forget(used []byte)
}

// Forget tells o, where it wants to know, that bytes of a view have been used.
func Forget(o Object, used []byte) {
	if f, ok := o.(Forgetter); ok {
		f.Forget(used)
	}
}

// A Checker is an Object that can tell whether its shard is still the version that was opened.
type Checker interface {
	Check() error
}

// Check returns ErrChanged when o's shard is no longer the version that was opened, and nil when it is or when o cannot know.
func Check(o Object) error {
	if c, ok := o.(Checker); ok {
		return c.Check()
	}
	return nil
}

// An Identifier is a Store that knows when two addresses name one shard.
type Identifier interface {
	// Identity returns the same text for all spellings of a shard's address.
	Identity(uri string) string
}

// Identity returns what store takes for the identity of an address: the address itself, cleaned, when it has no opinion.
func Identity(store Store, uri string) string {
	if i, ok := store.(Identifier); ok {
		return i.Identity(uri)
	}
	return normal(uri)
}
