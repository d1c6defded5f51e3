package loader

import (
	"context"

	"github.com/shardfeed/shardfeed/iterable"
)

// An Allocator gives batches their memory, and bounds it: Begin is where a loader waits when
// training is slower than loading.
//
// Begin is called for one batch after the other in the order of the steps, from one goroutine at a
// time. It waits until ctx ends for a batch to be freed. size is a guess, the most bytes that a
// batch of this iteration has taken so far, 0 for the first; the batch may take more. An allocator
// of slots of one size can ignore it.
type Allocator interface {
	Begin(ctx context.Context, size int) (Memory, error)
}

// Memory is the memory of one batch. One goroutine uses it at a time.
type Memory interface {
	// Alloc returns n bytes (0 too), 64-byte aligned, zeroed or not. It may wait for earlier
	// batches, but not for later ones. An error ends the iteration; it should say what to change.
	Alloc(n int) ([]byte, error)

	// Free gives back all that was allocated. It is called once.
	Free()
}

// An Accountant is an Allocator that keeps to the memory of a stream. Use is called before the
// first batch of each stream.
type Accountant interface {
	Allocator
	Use(*iterable.Account)
}

// Limited is Memory that a stream's account limits.
type Limited interface {
	Memory

	// Make is called before the first Alloc of a batch. ctx ends the waits of Alloc and Scratch.
	Make(ctx context.Context)

	// Scratch takes n bytes for what the making of the batch needs beside it, until Made.
	Scratch(n int64) error

	// Made is called when the batch is made, and allocates nothing more.
	Made()
}
