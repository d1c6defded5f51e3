package rowgroup

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/shard"
)

var (
	// ErrNotParquet is in errors about files that are not parquet.
	ErrNotParquet = parquet.ErrNotParquet

	// ErrEncrypted is in errors about files, or columns, that only a key can open.
	ErrEncrypted = parquet.ErrEncrypted

	// ErrTooLarge is in errors about rows that are too large to decode together. Fewer may fit.
	ErrTooLarge = errors.New("too large to decode together")
)

// IsLoss reports whether an error means that data is damaged: corrupt bytes, or a shard that is
// gone or was changed. Other errors are not losses: networks, permissions, memory, formats that
// this package cannot read.
func IsLoss(err error) bool {
	if errors.Is(err, shard.ErrCorrupt) || errors.Is(err, shard.ErrChanged) || errors.Is(err, shard.ErrNotExist) {
		return true
	}
	var e *Error
	if !errors.As(err, &e) || e.Op != "decode" && e.Op != "footer" {
		return false
	}
	var store *shard.Error
	var limit *sizeError
	if errors.As(err, &store) || errors.As(err, &limit) {
		return false
	}
	for _, other := range []error{shard.ErrDenied, shard.ErrTransient, ErrEncrypted, parquet.ErrDeletes, errEncoding, errDivision, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// memoryError is about rows that take more memory than the pool may hold.
func memoryError(err error) *sizeError {
	return &sizeError{err: err, hint: "raise {Memory}, or read fewer {Columns}"}
}

// TooLarge is the [ErrTooLarge] of rows for which there is no memory. err has the numbers.
func (m *Reader) TooLarge(u Rows, err error) error {
	too := memoryError(err)
	return &Error{Op: "decode", URI: m.shards[u.Shard].URI, RowGroup: u.RowGroup, Page: -1, Err: too, Hint: too.hint}
}

// exceeded makes an error of the panic of a pool that may not hold more. It is deferred.
func exceeded(err *error) {
	switch p := recover().(type) {
	case nil:
	case mem.Exceeded:
		*err = memoryError(p)
	default:
		panic(p)
	}
}

// A sizeError is an ErrTooLarge with numbers and what the user can change.
type sizeError struct {
	err  error
	hint string
}

func (e *sizeError) Error() string        { return e.err.Error() }
func (e *sizeError) Unwrap() error        { return e.err }
func (e *sizeError) Is(target error) bool { return target == ErrTooLarge }

// caught makes a panic an error. Corrupt bytes are found by checks; this backs them up for the
// decompressors, which are not ours and see outside bytes first.
func caught(err *error) {
	if p := recover(); p != nil {
		if _, fault := p.(interface{ Addr() uintptr }); fault {
			panic(p) // a mapping that is gone: Guard's business
		}
		if e, ok := p.(mem.Exceeded); ok {
			*err = memoryError(e)
			return
		}
		*err = fmt.Errorf("%w: %v", errChunk, p)
	}
}
