package loader

import (
	"context"

	"github.com/shardfeed/shardfeed/iterable"
)

// An Allocator provides the memory of batches and bounds it: when training is slower than loading,
// the loader waits in Begin.
//
// Begin is called for each batch in the order of the steps, from one goroutine at a time. It waits
// until a batch is freed or ctx ends. size is an estimate: the most bytes that a batch of this
// iteration has taken so far, 0 for the first; the batch may take more. An allocator with slots of
// one size can ignore it.
type Allocator interface {
	Begin(ctx context.Context, size int) (Memory, error)
}

// Memory is the memory of one batch. One goroutine uses it at a time.
type Memory interface {
	// Alloc returns n bytes, possibly 0, 64-byte aligned, zeroed or not. It may wait for earlier
	// batches, but not for later ones. An error ends the iteration; its text should tell the user
	// what to change.
	Alloc(n int) ([]byte, error)

	// Free releases everything that was allocated. It is called once.
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

	// Scratch reserves n bytes of temporary memory for making the batch, until Made.
	Scratch(n int64) error

	// Made is called when the batch is complete, after its last Alloc.
	Made()
}
