// Package cuda is NVIDIA's driver as a gpu.Device. The driver is looked for when [Load] is called;
// neither CUDA nor cgo is needed to build. [Choose] opens a device by name.
//
// On Linux on amd64 and arm64 the driver's library is called through purego, in one file,
// driver.go. Everywhere else, and with the build tag nocuda, Load returns gpu.ErrNoDriver and
// nothing of purego is linked: such a program is static.
//
// # Rules of the driver
//
// Device uses the primary context, which the process's other CUDA code shares. It is made current
// in each call, on a locked thread, and left so: other code that calls the driver on Go's threads
// has to do the same. It is given back by Close, or by the last thing freed after it, and never
// while memory of it is in use.
//
// Page-locked memory is portable: it is page-locked for all devices. It is allocated with the
// thread's memory policy set to the NUMA node of the device, if the kernel reports it. It is not
// Go's: asynchronous copies outlive the call, and Go may move or free its own memory. Freed memory
// is gone, even after an error of the driver; nothing is freed twice.
//
// A wait for an event holds a thread, so one goroutine should wait for many events, in order.
// Closing a stream waits for its work: the driver would return at once.
//
// After some failures of the device its context is lost ([Error.Lost]): every later call of the
// process has the same error, and Close still gives the device back.
package cuda
