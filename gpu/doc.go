// Package gpu brings batches to where they are consumed. They are collated straight into
// page-locked memory, and copied to the device while the step before computes; after collation
// nothing on the host is copied again.
//
//	collate -> slot of a Ring -> Transfer's stream -> event -> device Batch
//	             ^                                      |
//	             +---------- the slot is free ----------+
//
// A [Device] is the host itself ([OpenHost]), or a GPU that package gpu/cuda finds at run time;
// this package knows no driver, so a program that needs none links none. [Loader] is all of the
// above: a loader whose batches are on the device. [Column.Tensor], [Column.Ragged] and
// [Column.Validity] describe a [Batch] as DLPack does.
//
// # Memory
//
// A slot belongs to the batch that is collated into it until the event behind its copy has passed:
// what the device reads is never written. A batch that outgrows its slot takes further pieces, of a
// quarter of the slot at least, and such a slot is replaced before its next batch. All pieces of a
// batch go to one buffer of the device, with everything that was allocated from the batch.
//
// A [Loader]'s ring has as many slots as Options.Loader.MaxBatches, each as large as a batch is
// foretold to be. Its stream reserves these bytes within `memory`, under the purpose "batch". What
// batches take beyond that is page-locked too; [RingStats] counts it and the reservation does not.
//
// The device's memory is not part of `memory`, that of the host as a device neither. It is a fixed
// number of buffers, as many as may be in flight and with the consumer, for one iteration. A
// [Batch] has one until its Release; with [Batch.ReleaseAfter] it is used again when what the
// consumer gave a stream of its own is done, and the host does not wait.
//
// Where the device has no page-locked memory to give, ordinary memory is used, which is said once,
// or refused with RequirePinned. Columns that lie elsewhere, such as on Go's heap, are copied into
// the batch's memory first and counted ([Stats].HostCopied): an asynchronous copy must not read
// memory that Go could move or free.
//
// # Errors
//
// An [Error] says what failed, on which device and at which step. When a copy was refused, slot and
// buffer are used again. When a copy may still be on its way and there is no way to know (its event
// could not be recorded, or waiting for it failed), neither is touched before the stream is gone;
// if even that cannot be told, they are left alone, and Close says so. The next iteration goes on
// after the last batch that was handed out.
//
// # Goroutines
//
// An iteration of a Loader has two beside the loader's own: one gives batches to the stream, one
// waits for their events, in order. They are gone when the iteration has been left.
package gpu
