package gpu

// A Device is where batches are consumed. Its methods are safe for concurrent use.
type Device interface {
	Info() Info

	// AllocHost returns n > 0 bytes of host memory that the device's streams can read: page-locked,
	// near the device if its NUMA node is known. It returns an error if there is no such memory,
	// which matches ErrOutOfMemory if there was too little.
	AllocHost(n int) (HostMemory, error)

	// Register page-locks b, a mapping of the caller's, never Go's heap, until unregister. b must
	// not overlap registered memory. The error is ErrUnsupported on devices without page-locked
	// memory.
	Register(b []byte) (unregister func() error, err error)

	// Alloc returns n > 0 bytes of the device's memory, 256-byte aligned, not zeroed.
	Alloc(n int) (DeviceMemory, error)

	NewStream() (Stream, error)
	NewEvent() (Event, error)

	// Close gives the device back. What came from it must be freed before.
	Close() error
}

// Info describes a device.
type Info struct {
	Name   string // host, cuda:0
	Model  string // as the driver has it: NVIDIA H200
	Driver string // version of the driver, major.minor; "" of the host
	Bus    string // PCI address; "" without one
	Memory int64  // bytes in all, or 0 if unknown
	Node   int    // NUMA node, or -1 if unknown
	Type   DeviceType
	Index  int
}

// HostMemory is memory of the host that a device's streams can read and write.
type HostMemory interface {
	Bytes() []byte
	Pinned() bool // page-locked: copies from it run beside the host
	Free() error  // no stream may read it any more
}

// DeviceMemory is memory of a device.
type DeviceMemory interface {
	Pointer() uintptr // in the device's address space
	Len() int
	Free() error
}

// A Stream does what it is given in order, beside the host. Its methods return as soon as the work
// is queued.
type Stream interface {
	// ToDevice copies src to dst, from byte off on. src must be memory of AllocHost, or registered
	// with the device, and stay as it is until an event that is recorded later has passed.
	ToDevice(dst DeviceMemory, off int, src []byte) error

	// ToHost copies the other way. dst must be such memory too, and not be read before.
	ToHost(dst []byte, src DeviceMemory, off int) error

	// Record makes an event pass when all that the stream was given until now is done.
	Record(e Event) error

	// Await lets what the stream is given from now on wait for an event; the host does not wait.
	Await(e Event) error

	// Sync waits until all is done. An error of the device that came up in between is returned
	// here.
	Sync() error

	// Close gives the stream back. What it was given is done before.
	Close() error
}

// An Event is a point in a stream's work.
type Event interface {
	Done() (bool, error) // reports whether it has passed; one that was never recorded has
	Wait() error         // without spinning
	Free() error
}
