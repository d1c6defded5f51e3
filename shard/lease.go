package shard

import "errors"

// A Lender is an Object that can lend its bytes without a copy.
type Lender interface {
	// Lend lends n bytes from off on. An object that cannot lend them now returns
	// errors.ErrUnsupported.
	Lend(off, n int64) (Lease, error)
}

// A Lease is bytes that an object lends. They may be a mapping of a file: they are read-only, live
// until Release (also after the object's Close), and touching them can fault when the file shrinks,
// so they are touched only inside Guard or Use.
type Lease interface {
	// Bytes are the bytes that are lent.
	Bytes() []byte
	// Verify makes sure that some of the bytes, after they were used, were those of the version
	// that was opened; an empty span asks about the version alone. Where it fails, with ErrCorrupt
	// or ErrChanged, the caller throws away its results from the bytes, an error included. Bytes
	// are best verified bit by bit, while they lie in the processor's caches; a few hundred
	// kilobytes are worth a call.
	Verify(used Span) error
	// Forget gives back the memory of bytes that will hardly be touched again. They stay readable.
	Forget(used Span)
	// Release ends the lease. It may be called twice.
	Release()
}

// Lend borrows n bytes of o from off on. ok is false when o cannot lend them.
func Lend(o Object, off, n int64) (l Lease, ok bool, err error) {
	lender, ok := o.(Lender)
	if !ok {
		return nil, false, nil
	}
	l, err = lender.Lend(off, n)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, false, nil
	}
	return l, true, err
}
