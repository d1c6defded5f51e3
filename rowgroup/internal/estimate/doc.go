// Package estimate predicts the memory of decoded row groups from the footers of their shards,
// rather too high than too low.
//
// An [Estimator] adds up the memory of columns as the decoder keeps them: narrow and wide values,
// codes with their dictionaries, and the buffers that small allocations share. A [Scratch] counts
// the memory that decoding takes beside the block. The package reads no data, and starts no goroutine.
package estimate
