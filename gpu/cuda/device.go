package cuda

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/shardfeed/shardfeed/gpu"
)

// maxNodes is the most NUMA nodes that a kernel is built for.
const maxNodes = 1024

// A Device is a GPU with its primary context, which the process's other CUDA code shares. Its
// methods are safe for concurrent use.
type Device struct {
	driver  *Driver
	number  int32   // the driver's
	context uintptr // the driver's handle
	info    gpu.Info

	mu       sync.Mutex
	held     holdings
	closed   bool // nothing more is given
	released bool // the context was given back
}

var _ gpu.Device = (*Device)(nil)

// Open takes the device with an index as cuda:N counts: from 0, over the devices that the driver
// shows to this process.
func (d *Driver) Open(index int) (*Device, error) {
	count, err := d.Count()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= count {
		return nil, noSuchDevice(index, count)
	}
	dev := &Device{driver: d}
	if err := d.do(&d.api.deviceGet, uintptr(unsafe.Pointer(&dev.number)), uintptr(index)); err != nil {
		return nil, err
	}
	if dev.info, err = d.info(index, dev.number); err != nil {
		return nil, err
	}
	if err := d.do(&d.api.primaryCtxRetain, uintptr(unsafe.Pointer(&dev.context)), uintptr(dev.number)); err != nil {
		return nil, err
	}
	return dev, nil
}

// info asks the driver what it knows of a device.
func (d *Driver) info(index int, number int32) (gpu.Info, error) {
	info := gpu.Info{Name: fmt.Sprintf("cuda:%d", index), Driver: d.Version(), Type: gpu.CUDA, Index: index, Node: -1}
	name, bus := make([]byte, 256), make([]byte, 32)
	var total uintptr // size_t
	if err := cmp.Or(
		d.do(&d.api.deviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(number)),
		d.do(&d.api.deviceTotalMem, uintptr(unsafe.Pointer(&total)), uintptr(number)),
		d.do(&d.api.deviceGetPCIBusID, uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), uintptr(number)),
	); err != nil {
		return gpu.Info{}, err
	}
	info.Model, info.Memory = text(name), int64(total)
	info.Bus = strings.ToLower(text(bus)) // as the kernel writes it
	info.Node = busNode(d.sysfs, info.Bus)
	return info, nil
}

// busNode is the NUMA node of a PCI device; -1 where the kernel does not know it, as on machines
// that have one.
func busNode(sysfs, bus string) int {
	text, err := os.ReadFile(filepath.Join(sysfs, "bus/pci/devices", bus, "numa_node"))
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || node < 0 || node >= maxNodes {
		return -1
	}
	return node
}

// text is a string of C in a buffer.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// Info describes the device.
func (d *Device) Info() gpu.Info { return d.info }

// do calls a function with the device's context current. The context belongs to the thread of the
// operating system, and a goroutine may be on another one in its next line, so the thread is locked
// for as long as that matters. The context is left current: other code that calls the driver on
// Go's threads has to set its own.
//
//go:uintptrescapes
func (d *Device) do(f *function, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.driver.do(&d.driver.api.ctxSetCurrent, d.context); err != nil {
		return err
	}
	return d.driver.do(f, args...)
}

// Close gives the device back. What came from it and is not freed is named in the error, and keeps
// the device's context: the last of it that is freed gives it back, so that no memory goes that
// something still uses. Closing it again is not an error once nothing is left.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if left := d.held.String(); left != "" {
		return fmt.Errorf("cuda: %s was closed before what came from it was freed: %s; the last of it gives the device back", d.info.Name, left)
	}
	return d.releaseLocked()
}

// take calls a function that gives something, and counts it.
//
//go:uintptrescapes
func (d *Device) take(k kind, f *function, args ...uintptr) error {
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.held[k]++
	}
	d.mu.Unlock()
	if closed {
		return fmt.Errorf("cuda: %s: %s: %w", f.op, d.info.Name, gpu.ErrClosed)
	}
	if err := d.do(f, args...); err != nil {
		return errors.Join(err, d.drop(k))
	}
	return nil
}

// give calls a function that takes something back, which is gone whether or not it fails.
//
//go:uintptrescapes
func (d *Device) give(k kind, f *function, args ...uintptr) error {
	return errors.Join(d.do(f, args...), d.drop(k))
}

// drop counts something as given back, or as never given.
func (d *Device) drop(k kind) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[k]--
	if d.closed && d.held == (holdings{}) {
		return d.releaseLocked()
	}
	return nil
}

func (d *Device) releaseLocked() error {
	if d.released {
		return nil
	}
	d.released = true
	return d.driver.do(&d.driver.api.primaryCtxRelease, uintptr(d.number))
}

// kind is the kind of a device's resource.
type kind int

const (
	pinned kind = iota
	registered
	deviceAllocation
	ownStream
	ownEvent
	kinds
)

// holdings counts allocations that are not freed.
type holdings [kinds]int

// String lists what there is.
func (h holdings) String() string {
	names := [kinds]string{"page-locked allocations", "registered ranges", "device allocations", "streams", "events"}
	var left []string
	for k, n := range h {
		if n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, names[k]))
		}
	}
	return strings.Join(left, ", ")
}
