package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/shardfeed/shardfeed/gpu"
)

// hostMemory is page-locked memory of the driver's. The collector does not know it, so it is freed
// by hand.
type hostMemory struct {
	device *Device
	bytes  atomic.Pointer[[]byte] // nil when it was freed
}

// AllocHost returns page-locked memory of the device's NUMA node, where that is known and has room.
// It is not write-combined: collating reads what it has written.
func (d *Device) AllocHost(n int) (gpu.HostMemory, error) {
	alloc := &d.driver.api.memHostAlloc
	if n <= 0 {
		return nil, misuse(alloc.op, "%d bytes were asked for", n)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer preferNode(d.info.Node)()
	var p unsafe.Pointer
	if err := d.take(pinned, alloc, uintptr(unsafe.Pointer(&p)), uintptr(n), hostAllocPortable); err != nil {
		return nil, asked(err, n)
	}
	m := &hostMemory{device: d}
	bytes := unsafe.Slice((*byte)(p), n)
	m.bytes.Store(&bytes)
	return m, nil
}

// asked adds to an error of an allocation how much it was for.
func asked(err error, n int) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Text += fmt.Sprintf(" (%d bytes were asked for)", n)
	}
	return err
}

// Bytes is the memory; nil when it was freed.
func (m *hostMemory) Bytes() []byte {
	if b := m.bytes.Load(); b != nil {
		return *b
	}
	return nil
}

func (m *hostMemory) Pinned() bool { return true }

// Free gives the memory back. It is gone whether or not there is an error: which of the two the
// driver meant cannot be known, and what is freed twice may be somebody else's by then.
func (m *hostMemory) Free() error {
	b := m.bytes.Swap(nil)
	if b == nil {
		return nil
	}
	return m.device.give(pinned, &m.device.driver.api.memFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(*b))))
}

// Register page-locks memory that is mapped elsewhere. It costs about as much as touching each
// page: map once, in few large pieces.
func (d *Device) Register(b []byte) (unregister func() error, err error) {
	register := &d.driver.api.memHostRegister
	if len(b) == 0 {
		return nil, misuse(register.op, "0 bytes were given")
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if err := d.take(registered, register, uintptr(p), uintptr(len(b)), hostRegisterPortable); err != nil {
		return nil, asked(err, len(b))
	}
	var done atomic.Bool
	return func() error {
		if done.Swap(true) {
			return nil
		}
		return d.give(registered, &d.driver.api.memHostUnregister, uintptr(p))
	}, nil
}

// deviceMemory is memory of the device.
type deviceMemory struct {
	device  *Device
	pointer atomic.Uintptr // 0 when it was freed
	size    int
}

// Alloc returns memory of the device.
func (d *Device) Alloc(n int) (gpu.DeviceMemory, error) {
	alloc := &d.driver.api.memAlloc
	if n <= 0 {
		return nil, misuse(alloc.op, "%d bytes were asked for", n)
	}
	var p uintptr // CUdeviceptr, 64 bits
	if err := d.take(deviceAllocation, alloc, uintptr(unsafe.Pointer(&p)), uintptr(n)); err != nil {
		return nil, asked(err, n)
	}
	m := &deviceMemory{device: d, size: n}
	m.pointer.Store(p)
	return m, nil
}

// Pointer is the address on the device; 0 when it was freed.
func (m *deviceMemory) Pointer() uintptr { return m.pointer.Load() }

func (m *deviceMemory) Len() int { return m.size }

// Free frees the memory, like the host's.
func (m *deviceMemory) Free() error {
	p := m.pointer.Swap(0)
	if p == 0 {
		return nil
	}
	return m.device.give(deviceAllocation, &m.device.driver.api.memFree, p)
}
