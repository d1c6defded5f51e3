package iterable

import (
	"fmt"
	"runtime/debug"

	"github.com/shardfeed/shardfeed/rowgroup"
)

// PanicError is a panic in a goroutine of the stream.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// caught makes a panic an error that says where it happened. It is deferred.
func (r *readahead) caught(op string, rows rowgroup.Rows, err *error) {
	if v := recover(); v != nil {
		*err = &rowgroup.Error{
			Op: op, URI: r.manifest.Shards()[rows.Shard].URI, RowGroup: rows.RowGroup, Page: -1,
			Err: &PanicError{Value: v, Stack: debug.Stack()},
		}
	}
}
