// Package gpu brings batches to where they are consumed. They are collated straight into page-locked memory, and copied to the device while
// the step before computes; after collation nothing on the host is copied again.
//
//	collate -> slot of a Ring -> Transfer's stream -> event -> device Batch
//	             ^                                      |
//	             +---------- the slot is free ----------+
//
// A [Device] is the host itself ([OpenHost]), or a GPU that package gpu/cuda finds at run time; this package knows no driver, so a program
// that needs none links none. A [Ring] is page-locked memory for batches and a loader's Allocator. A [Transfer] copies batches to a device,
// in order, on a stream of its own. [Loader] is all of it: a loader whose batches are on the device.
//
// # Memory
//
// A slot belongs to the batch that is collated into it until the event behind its copy has passed, and not a moment less: what the device
// reads is never written. The device's memory is taken from a few buffers that are used again; a device [Batch] has one until its Release.
// Page-locked memory, where the device has none to give, is replaced by ordinary memory, which is said once, or refused with RequirePinned.
// The copies of batches whose columns lie elsewhere, such as what a collate made on Go's heap, are counted ([Stats].HostCopied): an
// asynchronous copy must not read memory that Go could move or free.
//
// # Goroutines
//
// An iteration of a Loader has two beside the loader's own: one gives batches to the stream, one waits for their events, in order. They are
// gone when the iteration has been left, however that happens, and everything that was on its way has arrived or was given up by then.
package gpu
