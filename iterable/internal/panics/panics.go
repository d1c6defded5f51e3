// Package panics makes panics errors of the goroutine that they end, with the row group at work.
package panics

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// Error is a panic in a goroutine of a stream or a loader.
type Error struct {
	Value any
	Stack []byte // nil when the error around it has the stack
}

func (e *Error) Error() string {
	if e.Stack == nil {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Is reports whether a panic is among the causes of err.
func Is(err error) bool {
	var p *Error
	return errors.As(err, &p)
}

// Caught recovers from a panic at work on rows, and sets err. It is deferred.
func Caught(m *rowgroup.Reader, rows rowgroup.Rows, err *error) {
	if v := recover(); v != nil {
		*err = New("panic", m, rows, v)
	}
}

// New returns the error of a recovered value.
func New(op string, m *rowgroup.Reader, rows rowgroup.Rows, value any) error {
	return &rowgroup.Error{
		Op: op, URI: m.Shards()[rows.Shard].URI, RowGroup: rows.RowGroup, Page: -1,
		Err: &Error{Value: value, Stack: debug.Stack()},
	}
}
