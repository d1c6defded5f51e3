// Package gpu delivers batches on devices. They are collated directly into page-locked memory, and
// copied to the device during the previous step; after collation nothing on the host is copied
// again.
//
//	collate -> slot of a Ring -> Transfer's stream -> event -> device Batch
//	             ^                                      |
//	             +---------- the slot is free ----------+
//
// A [Device] is the host itself ([OpenHost]), or a GPU that package gpu/cuda finds at run time;
// this package contains no driver, so programs link one only if they import it. [Loader] combines
// all parts: a loader whose batches are on the device. [Column.Tensor], [Column.Ragged] and
// [Column.Validity] describe a [Batch] like DLPack.
//
// # Memory
//
// A slot belongs to the batch that is collated into it until the event behind its copy has passed:
// what the device reads is never written. A batch that outgrows its slot takes further pieces, of a
// quarter of the slot at least, and such a slot is replaced before its next batch. All pieces of a
// batch go to one buffer of the device, with everything that was allocated from the batch.
//
// A [Loader]'s ring has Options.Loader.MaxBatches slots, each of the estimated size of a batch. Its
// stream reserves these bytes within `memory`, under the purpose "batch". Memory that batches take
// beyond that is page-locked too. The stream's account grants it first, or refuses the batch.
//
// The device's memory is not part of `memory`, nor is the host's if it is the device. It is a fixed
// number of buffers for one iteration, for the batches in flight and with the consumer. A [Batch]
// has one until its Release; with [Batch.ReleaseAfter] it is reused once the work that the consumer
// queued on its own stream is done, without a wait on the host.
//
// If the device has no page-locked memory left, ordinary memory is used, which is reported once, or
// refused with RequirePinned. Columns outside the batch's memory, such as on Go's heap, are copied
// into it first and counted ([Stats].HostCopied): an asynchronous copy must not read memory that Go
// could move or free.
//
// # Errors
//
// An [Error] names the operation, the device and the step. If a copy was refused, slot and buffer
// are reused. If a copy may still be in progress and its end cannot be known (its event could not
// be recorded, or waiting for it failed), neither is touched before the stream is destroyed; if
// even that fails, they are never freed, and Close reports it. The next iteration continues after
// the last delivered batch.
//
// # Goroutines
//
// An iteration of a Loader has two beside the loader's own: one gives batches to the stream, one
// waits for their events, in order. They are gone when the iteration has been left.
package gpu
