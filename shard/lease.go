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
	// Verify makes sure, after use, that some of the bytes belonged to the opened version; an empty
	// span checks only the version. If it fails, with ErrCorrupt or ErrChanged, the caller must
	// discard its results from the bytes, including errors. Verify bytes in pieces, while they are
	// in the processor's caches; a few hundred kilobytes are worth a call.
	Verify(used Span) error
	// Forget releases the memory of bytes that will hardly be read again. They stay readable.
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
