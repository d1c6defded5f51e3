package gpu

import "errors"

// What errors of devices match, whichever driver they come from.
var (
	ErrNoDriver    = errors.New("gpu: no driver")
	ErrNoDevice    = errors.New("gpu: no such device")
	ErrOutOfMemory = errors.New("gpu: out of memory")
	ErrUnsupported = errors.New("gpu: not supported by this device")
	ErrClosed      = errors.New("gpu: closed")
	ErrReleased    = errors.New("gpu: the batch was released")
)
