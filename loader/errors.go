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

	// ErrBusy is returned by a second Batches that begins before the first has ended.
	ErrBusy = errors.New("loader: another iteration of this loader has not ended")
)

// An Error says at which step, in which part of the making of a batch and at which column something
// failed.
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

// A TimeoutError says for what the loader waited longer than Options.Timeout.
type TimeoutError struct {
	After   time.Duration
	Waiting string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("loader: no batch within %v: waiting for %s", e.After, e.Waiting)
}

// Timeout makes the error one that net.Error's users know.
func (e *TimeoutError) Timeout() bool { return true }

// A DroppedError says that batches became garbage before they were released, and that no memory is
// left for the next one.
type DroppedError struct {
	Batches int64
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("%d batches were dropped without Release and no memory is left for another; call Release when done with a batch", e.Batches)
}
