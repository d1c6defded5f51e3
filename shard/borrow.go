package shard

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Credentials open files for some time. A catalog of tables lends them as properties, by the names
// of Iceberg's catalogs such as s3.access-key-id. A store knows which of them are its own.
type Credentials map[string]string

// Expiry returns when credentials expire: the first of the named properties with a time, which is
// in milliseconds since 1970. The zero time is unknown.
func (c Credentials) Expiry(names ...string) time.Time {
	for _, name := range names {
		if ms, err := strconv.ParseInt(c[name], 10, 64); err == nil {
			return time.UnixMilli(ms)
		}
	}
	return time.Time{}
}

// A Renew asks a catalog for newer credentials.
type Renew func(ctx context.Context) (Credentials, error)

// A Borrower is a Store that can read the files below an address with borrowed credentials.
type Borrower interface {
	// Borrow makes the store use the first credentials below prefix, and what renew returns before
	// they expire. Another loan for the same prefix replaces it. The error is errors.ErrUnsupported
	// if the properties have no credentials for the store.
	Borrow(prefix string, first Credentials, renew Renew) error
}

// Borrow lends credentials to a store, or returns errors.ErrUnsupported.
func Borrow(store Store, prefix string, first Credentials, renew Renew) error {
	if b, ok := store.(Borrower); ok {
		return b.Borrow(prefix, first, renew)
	}
	return errors.ErrUnsupported
}
