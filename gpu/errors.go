package gpu

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// What errors of devices match, whichever driver they come from.
var (
	ErrNoDriver    = errors.New("gpu: no driver")
	ErrNoDevice    = errors.New("gpu: no such device")
	ErrOutOfMemory = errors.New("gpu: out of memory")
	ErrUnsupported = errors.New("gpu: not supported by this device")
	ErrClosed      = errors.New("gpu: closed")
	ErrReleased    = errors.New("gpu: the batch was released")
)

// An Error names the operation on a device that failed, and its step.
type Error struct {
	Device string // Info.Name
	Op     string
	Epoch  int64 // -1 when no step was at hand
	Step   int64
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gpu: %s: %s", e.Device, e.Op)
	if e.Epoch >= 0 {
		fmt.Fprintf(&b, ": epoch %d, step %d", e.Epoch, e.Step)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// failed is an Error without a step.
func failed(d Device, op string, err error) error {
	return &Error{Device: d.Info().Name, Op: op, Epoch: -1, Step: -1, Err: err}
}

// A PinError reports that a device has no page-locked memory for a ring.
type PinError struct {
	Device string
	Slots  int
	Bytes  int64 // that were asked for
	Err    error
}

func (e *PinError) Error() string {
	return fmt.Sprintf("gpu: %s: %v of page-locked memory for a batch, one of %d: %v (fewer slots, which is fewer workers or a smaller "+
		"prefetch_factor, a smaller batch_size or fewer columns take less; limits are `ulimit -l` and the memory limit of a container)",
		e.Device, mem.Bytes(e.Bytes), e.Slots, e.Err)
}

func (e *PinError) Unwrap() error { return e.Err }
