// Package fakecuda replaces NVIDIA's libcuda.so.1 in tests on machines without a GPU. It is written
// in C (driver/), compiled on first use by a test, and loaded like the real library.
//
// It has the driver's functions that package gpu/cuda calls, and keeps the rules that their callers
// most often break:
//
//	a context is current per thread             201 on a thread without one
//	a copy on a stream runs beside the host     each stream is a thread that starts late, which exposes early writes to the source
//	pageable memory is copied at once           and counted
//	memory is registered once, page by page     712, 713
//	a device's memory is not the host's         its addresses are of no process; each copy is checked against the bounds
//	an asynchronous failure sticks              every later call in the context returns its code
//	a context ends with its last release        its leftovers are dropped, and counted
//
// A test calls [Open], injects faults ([Fake.Fault]), and checks counts and the log of calls. Any
// action of an incorrect program, such as freeing memory that a queued copy reads, or using a
// destroyed handle, is a violation: it fails the test at its end, as do all leaks.
//
// A whole process is given the library's path in SHARDFEED_LIBCUDA and is configured by the
// environment: FAKECUDA_DEVICES=n, FAKECUDA_FAULTS=op:nth:code,..., FAKECUDA_DELAY=latency,µs per
// MiB; FAKECUDA_REPORT names a file that holds [Counts] as JSON, as of the last time that a context
// came or went or a rule was broken.
//
// Its speed says nothing about any GPU.
package fakecuda
