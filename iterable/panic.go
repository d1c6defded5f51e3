package iterable

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// PanicError is a panic in a goroutine of a stream or a loader.
type PanicError struct {
	Value any
	Stack []byte // nil when the error around it has the stack
}

func (e *PanicError) Error() string {
	if e.Stack == nil {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}

// Unwrap is the value when that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func panicked(err error) bool {
	var p *PanicError
	return errors.As(err, &p)
}

// caught makes a panic an error that names the row group. It is deferred.
func caught(m *rowgroup.Manifest, rows rowgroup.Rows, err *error) {
	if v := recover(); v != nil {
		*err = &rowgroup.Error{
			Op: "panic", URI: m.Shards()[rows.Shard].URI, RowGroup: rows.RowGroup, Page: -1,
			Err: &PanicError{Value: v, Stack: debug.Stack()},
		}
	}
}
