// Package loader makes the batches that training reads: rows that a dataset's stream has drawn,
// gathered column by column into memory that an Allocator gives, padded, transformed, and handed
// out in order.
//
//	draw (block, row picks) -> images -> gather -> fill -> pad -> transforms -> Batch
//
// [New] takes a dataset and [Options], which have the names and the exclusions of
// torch.utils.data.DataLoader. [Loader.Batches] is the iteration. A [Batch] has one array in
// Arrow's layout for each column, and the state that resumes after it; [Values] and [Bytes] see
// an array as Go values without copying it. [Features] cast, hash and scale values as they are
// gathered, and stack columns to matrices. [Padding] makes ragged lists dense, and a [Transform]
// does anything else, with random numbers that a resumed run repeats.
//
// Options.Images decodes and augments the files in columns of bytes, and writes their tensors
// straight into the batch's memory (images_decode.go). The goroutines that decode have a lens each,
// with the decoders' memory (images_lens.go). A row's crop depends only on the seed, the epoch, the
// row and the column's name, and a file that cannot be decoded is a lost row.
//
// With Options.ImageSplit a part of the rows keep their files, for a device of the consumer's that
// decodes them, with the numbers of their crops and colors (images_device.go).
//
// [NewMap] makes batches of rows that are named by number, and a [Sampler] names the rows of an
// epoch: [Random], [Weighted], [Distributed] and the others have torch's names and semantics.
//
// With Pack a row is a block of documents, and [Packed] selects columns to make of their lengths.
// With Bucket each draw has one sample, whose rows become the rows of the batch.
//
// # Memory
//
// A batch's memory comes from an [Allocator] and is freed by [Batch.Release], which the consumer
// calls for each batch, in any order and at any time. Everything obtained from the batch is invalid
// afterwards. At most Options.MaxBatches batches exist at once: when that many are being made,
// ready or held, the loader stops reading until one is released. A consumer that forgets Release
// gets an error: a TimeoutError if Options.Timeout is set, and in any case a DroppedError once the
// batches it lost fill the memory. A consumer that waits while it holds all batches itself only
// gets the TimeoutError: any goroutine or timer may still release a batch that is referenced. The
// default allocator's bytes are part of the stream's reservation, under the purpose "batch". A
// batch that outgrows its share takes more from the stream's memory, in the order of the steps, or
// fails with a [BatchMemoryError] before it allocates; see [Limited].
//
// The values of fixed columns of one type are equally spaced, each aligned like a single column, so
// that a reader of wide batches finds all of them by two numbers.
//
// Making a batch allocates a fixed number of small objects per column on Go's heap, and nothing per
// row.
//
// # Goroutines
//
// Without workers only the stream has goroutines; the consumer's goroutine makes each batch when it
// asks for it. With n workers an iteration has n+1 goroutines, and up to Options.ImageParallel more
// while images are decoded: row by row, the earliest step first. When the loop over
// Batches is left, by its end, an error, break, return, a panic or runtime.Goexit, they have ended
// and all memory is free except the batches that the consumer holds. For that, transforms and
// collates must return when their ctx ends. Their errors and panics reach the consumer as the last
// element of the iteration.
//
// The package never changes the order of rows, writes no log, and does not look at what is in a
// batch.
package loader
