package shard

import (
	"context"
	"errors"
	"time"
)

// Credentials open files for some time. A catalog of tables lends them.
type Credentials struct {
	Properties map[string]string // by the names of Iceberg's catalogs, such as s3.access-key-id
	Expires    time.Time         // zero is unknown
}

// A Borrower is a Store that can read the files below an address with borrowed credentials.
type Borrower interface {
	// Borrow makes the store use the first credentials below prefix, and what renew returns before
	// they expire. Another loan for the same prefix replaces it.
	Borrow(prefix string, first Credentials, renew func(context.Context) (Credentials, error)) error
}

// Borrow lends credentials to a store, or returns errors.ErrUnsupported.
func Borrow(store Store, prefix string, first Credentials, renew func(context.Context) (Credentials, error)) error {
	if b, ok := store.(Borrower); ok {
		return b.Borrow(prefix, first, renew)
	}
	return errors.ErrUnsupported
}
