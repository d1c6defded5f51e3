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
// with the decoders' memory (images_lens.go). A row's crop depends on the seed, the epoch, the row
// and the column's name alone, and a file that cannot be decoded is a lost row.
//
// [NewMap] makes batches of rows that are named by number, and a [Sampler] names the rows of an
// epoch: [Random], [Weighted], [Distributed] and the others have torch's names and semantics.
//
// Of a data set with Pack a row is a block of documents, and [Packed] says which columns are made of
// their lengths. Of one with Bucket each draw has one sample, whose rows become those of the batch.
//
// # Memory
//
// A batch's memory comes from an [Allocator] and goes back with [Batch.Release], which the consumer
// calls for each batch, in any order and whenever it likes. Everything the batch has shown is
// invalid afterwards. As many batches as Options.MaxBatches exist at once: when that many are being
// made, are ready or are held, the loader stops reading until one is released. A consumer that
// forgets Release gets an error: by the TimeoutError when Options.Timeout is set, and in any case
// by a DroppedError once the batches it lost fill the memory. One that waits while it holds all
// batches itself gets the TimeoutError alone: any goroutine or timer may still release a batch that
// is referred to, so nothing else can tell that none will. The default allocator's bytes are part
// of the stream's reservation, under the purpose "batch". A batch that outgrows its share of that
// takes more from the stream's memory, in the order of the steps, or fails with a
// [BatchMemoryError] before it allocates; see [Limited].
//
// The values of fixed columns of one type lie one behind the other, each aligned like a single one,
// so that a reader of wide batches finds all of them by two numbers.
//
// Making a batch allocates a fixed number of small things on Go's heap for each column, and nothing
// for a row.
//
// # Goroutines
//
// Without workers there are none but the stream's; the consumer's goroutine makes each batch when
// it asks for it. With n workers an iteration has n+1 goroutines, and up to Options.ImageParallel
// help with the images of a batch while it is made. However the loop over Batches is left, by its
// end, an error, break, return, a panic or runtime.Goexit, they are gone when it has been left, and
// so is all memory but that of batches that the consumer holds. For that, transforms and collates
// have to return when their ctx ends. Errors and panics of theirs reach the consumer as the last
// element of the iteration.
//
// The package never changes the order of rows, writes no log, and does not look at what is in a
// batch.
package loader
