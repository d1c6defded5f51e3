package loader

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrClosed is returned when a loader is used after Close.
	ErrClosed = errors.New("loader: closed")

	// ErrBusy is returned by a second Batches before the first has ended.
	ErrBusy = errors.New("loader: another iteration of this loader has not ended")
)

// An Error reports the step, the stage of making a batch and the column of a failure.
type Error struct {
	Op     string // "read", "memory", "gather", "pad", "transform 0 (flip)"
	Rank   int
	Epoch  int64 // -1 when no step was at hand
	Step   int64
	Column string // "" when the failure has no column
	Err    error  // an iterable.PanicError for a panic of a transform or an allocator
	Stack  []byte // of the goroutine that panicked; nil when nothing did
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "loader: %s", e.Op)
	if e.Epoch >= 0 {
		fmt.Fprintf(&b, ": rank %d, epoch %d, step %d", e.Rank, e.Epoch, e.Step)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %q", e.Column)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Stack != nil {
		fmt.Fprintf(&b, "\n%s", e.Stack)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// A TimeoutError reports a wait longer than Options.Timeout, and its reason.
type TimeoutError struct {
	After   time.Duration
	Waiting string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("loader: no batch within %v: waiting for %s", e.After, e.Waiting)
}

// Timeout implements net.Error's convention for timeouts.
func (e *TimeoutError) Timeout() bool { return true }

// A DroppedError reports batches that became garbage before they were released, which leaves no
// memory for the next one.
type DroppedError struct {
	Batches int64
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("%d batches were dropped without Release and no memory is left for another; call Release when done with a batch", e.Batches)
}
