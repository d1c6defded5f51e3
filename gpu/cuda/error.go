package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/gpu"
)

// An Error is a call of the driver that failed, or a driver that could not be loaded.
type Error struct {
	Op   string // the driver's function without _v2: cuMemHostAlloc; load when there is no driver to call
	Code int    // CUresult; 0 of load
	Name string // the driver's name for the code: CUDA_ERROR_OUT_OF_MEMORY
	Text string // the driver's words for it
	Hint string // what to do about it, or ""
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cuda: %s: ", e.Op)
	if e.Code != 0 {
		fmt.Fprintf(&b, "%s (%d): ", e.Name, e.Code)
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Is matches the error classes of package gpu.
func (e *Error) Is(target error) bool {
	switch target {
	case gpu.ErrNoDriver:
		return e.Code == 0 || e.Code == codeStubLibrary
	case gpu.ErrNoDevice:
		return e.Code == codeNoDevice || e.Code == codeInvalidDevice
	case gpu.ErrOutOfMemory:
		return e.Code == codeOutOfMemory
	case gpu.ErrUnsupported:
		return e.Code == codeNotSupported || e.pageLocking() && (e.Code == codeOperatingSystem || e.Code == codeNotPermitted)
	}
	return false
}

// pageLocking reports whether page-locking memory failed: a system that refuses it has no such
// memory.
func (e *Error) pageLocking() bool { return e.Op == opHostAlloc || e.Op == opHostRegister }

// The functions that page-lock.
const (
	opHostAlloc    = "cuMemHostAlloc"
	opHostRegister = "cuMemHostRegister"
)

// Lost reports whether the device's context was lost with it: each later call in this process fails
// in the same way.
func (e *Error) Lost() bool { return slices.Contains(lostCodes, e.Code) }

// Codes that the package distinguishes, as in cuda.h.
const (
	codeInvalidValue      = 1
	codeOutOfMemory       = 2
	codeNotInitialised    = 3
	codeStubLibrary       = 34
	codeRuntimeTooNew     = 35
	codeUnavailable       = 46
	codeNoDevice          = 100
	codeInvalidDevice     = 101
	codeInvalidContext    = 201
	codeOperatingSystem   = 304
	codeInvalidHandle     = 400
	codeNotReady          = 600
	codeIllegalAddress    = 700
	codeContextDestroyed  = 709
	codeAlreadyRegistered = 712
	codeNotRegistered     = 713
	codeLaunchFailed      = 719
	codeNotPermitted      = 800
	codeNotSupported      = 801
	codeSystemNotReady    = 802
	codeDriverMismatch    = 803
	codeCompatUnsupported = 804
	codeUnknown           = 999
)

// lostCodes are the asynchronous failures after which cuda.h requires the process to be restarted:
// an uncorrectable error of memory or link, a kernel that ran too long or failed.
var lostCodes = []int{214, 220, codeIllegalAddress, 702, 710, 714, 715, 716, 717, 718, codeLaunchFailed}

// hint is the advice for a code that a function returned.
func hint(op string, code int) string {
	switch {
	case slices.Contains(lostCodes, code):
		return "earlier work of the device failed, maybe other code's, and its context is lost: the process has to end; save what can be saved"
	case code == codeOutOfMemory:
		return memoryHint(op)
	}
	return hints[code]
}

const (
	otherVersion = "the driver's library is older or newer than its kernel module: restart after an update; in a container, use the host's library"
	otherReset   = "other CUDA code of the process has reset the device: close its user before"
)

var hints = map[int]string{
	codeNotInitialised:    "the driver is not initialised in this process: a child of fork cannot use its parent's, start a new process instead",
	codeStubLibrary:       "this is the CUDA toolkit's stub, not the driver: take its folder out of LD_LIBRARY_PATH, or install the driver",
	codeRuntimeTooNew:     otherVersion,
	codeUnavailable:       "the device is held by another process: see nvidia-smi, and its compute mode",
	codeNoDevice:          "CUDA_VISIBLE_DEVICES may hide it; a container has to be given its GPUs (docker run --gpus all); nvidia-smi says what the driver sees",
	codeInvalidDevice:     "devices are counted from 0, and only those of CUDA_VISIBLE_DEVICES",
	codeInvalidContext:    otherReset,
	codeOperatingSystem:   "the operating system refused: see dmesg, the container's limits and whether /dev/nvidia* may be used",
	codeContextDestroyed:  otherReset,
	codeAlreadyRegistered: "the memory, or a page of it, is registered already: register a mapping once, as a whole",
	codeNotRegistered:     "the memory is not registered, or not from this address on",
	codeNotPermitted:      "the device does not allow it to this process: see its compute mode and the container's rights",
	codeNotSupported:      "neither the device nor this system can do this (some virtual machines and WSL cannot page-lock memory)",
	codeSystemNotReady:    "the system's services for the device are not running: nvidia-fabricmanager on machines with NVSwitch",
	codeDriverMismatch:    otherVersion,
	codeCompatUnsupported: otherVersion,
	codeUnknown:           "the driver does not say more: dmesg may (Xid), and restarting the driver or the machine may help",
}

func memoryHint(op string) string {
	switch op {
	case opHostAlloc, opHostRegister:
		return "page-locked memory is bound by ulimit -l, by the container's memory limit and by what is free: ask for fewer or smaller slots"
	case "cuMemAlloc":
		return "the device's memory is taken, maybe by other processes (nvidia-smi): fewer batches in flight, or smaller ones, need less"
	}
	return "the device's memory, or the machine's, is taken, maybe by other processes (nvidia-smi)"
}

// noSuchDevice returns an error with the number of devices.
func noSuchDevice(index, count int) *Error {
	const op = "cuDeviceGet"
	text := fmt.Sprintf("cuda:%d of %d devices", index, count)
	return &Error{Op: op, Code: codeInvalidDevice, Name: "CUDA_ERROR_INVALID_DEVICE", Text: text, Hint: hint(op, codeInvalidDevice)}
}
