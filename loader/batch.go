package loader

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Batch is the rows of one step of one rank, column by column, in memory of its own.
//
// One goroutine uses a batch at a time. Its columns, and all slices that the functions of this
// package return for them, are valid until Release.
type Batch struct {
	Columns []*column.Array // of Rows values each, in the order of the schema; columns that were added come last
	Data    any             // what a transform made; the loader does not look at it

	Rows  int // rows of every column
	Valid int // the first Valid rows count; fewer than Rows only where an epoch's last step is filled up, or rows are lost
	Lost  int // rows of the step whose data is lost, under iterable.Losses

	Epoch    int64
	Step     int64         // of the epoch, from 0
	Position int64         // rows of the epoch before this step, over all ranks
	State    shuffle.State // resumes after this batch

	// Sum counts the batch's rows for the audit of its epoch; see package audit. Under
	// Options.Hashes Hashes has the sum of the hashes up to each row that is valid or lost, in the
	// order of the epoch, and Gaps are the places there of the lost ones.
	Sum    audit.Sum
	Hashes []uint64
	Gaps   []int32

	// Trail has the causes that held the batch up, for the wait of the loop that gets it.
	Trail *iterable.Trail

	memory   Memory
	bytes    int64
	losses   []iterable.Loss // rows of Lost that the stream does not know of
	released atomic.Bool
	owner    *owner
	cleanup  runtime.Cleanup
}

// Column returns the column of that name, or the struct member that a dotted path leads to. An
// exact name wins over a path.
func (b *Batch) Column(name string) (*column.Array, error) {
	if b.released.Load() {
		return nil, column.ErrReleased
	}
	a, err := column.Find(b.Columns, name, members)
	if err != nil {
		return nil, fmt.Errorf("loader: column %q: the batch has %w; take it by its place", name, err)
	}
	if a == nil {
		return nil, fmt.Errorf("loader: the batch has no column %q", name)
	}
	return a, nil
}

// members returns the fields that a path can select below a column: the members of a struct.
func members(a *column.Array) (*column.Field, []*column.Array) {
	if a.Field.Kind != column.Struct {
		return a.Field, nil
	}
	return a.Field, a.Children
}

// Alloc returns n bytes of the batch's memory, 64-byte aligned, not zeroed: for what a collate or a
// transform adds.
func (b *Batch) Alloc(n int) ([]byte, error) {
	if b.released.Load() {
		return nil, column.ErrReleased
	}
	if n < 0 {
		return nil, fmt.Errorf("loader: %d is not a number of bytes", n)
	}
	b.bytes += int64(n)
	p, err := b.memory.Alloc(n)
	if err == nil && len(p) != n {
		return nil, fmt.Errorf("loader: Memory.Alloc of the Allocator must return %d bytes, got %d", n, len(p))
	}
	return p, err
}

// Bytes is the bytes allocated for the batch.
func (b *Batch) Bytes() int64 { return b.bytes }

// Memory returns the memory that the allocator's Begin returned for the batch, so that the owner of
// shared or pinned memory can locate it.
func (b *Batch) Memory() Memory { return b.memory }

// Add adds a column. Its name must be new, its length Rows, and its bytes must live as long as the
// batch (see Alloc).
func (b *Batch) Add(a *column.Array) error {
	if b.released.Load() {
		return column.ErrReleased
	}
	if a.Len != b.Rows {
		return fmt.Errorf("loader: column %q has %d rows, the batch has %d", a.Field.Name, a.Len, b.Rows)
	}
	for _, c := range b.Columns {
		if c.Field.Name == a.Field.Name {
			return fmt.Errorf("loader: the batch has a column %q already", a.Field.Name)
		}
	}
	b.Columns = append(b.Columns, a)
	return nil
}

// Remove removes the named columns. Their memory remains part of the batch.
func (b *Batch) Remove(names ...string) error {
	for _, name := range names {
		a, err := b.Column(name)
		if err != nil {
			return err
		}
		i := slices.Index(b.Columns, a)
		if i < 0 {
			return fmt.Errorf("loader: %q is a member of a column; remove the column", name)
		}
		b.Columns = slices.Delete(b.Columns, i, i+1)
	}
	return nil
}

// AddTensor adds a column of shape [Rows, dims...] without nulls and returns its values, row by
// row, all zero. Without dims the column is a vector.
func AddTensor[T column.Value](b *Batch, name string, dims ...int) ([]T, error) {
	f, n := column.FieldOf[T](name), b.Rows
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] <= 0 {
			return nil, fmt.Errorf("loader: column %q: a dimension of %d", name, dims[i])
		}
		f = &column.Field{Name: name, Kind: column.List, ListSize: dims[i], Children: []*column.Field{f}}
	}
	for _, d := range dims {
		n *= d
	}
	var zero T
	data, err := b.Alloc(n * int(unsafe.Sizeof(zero)))
	if err != nil {
		return nil, err
	}
	clear(data)
	if err := b.Add(tensor(f, b.Rows, data)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n), nil
}

// tensor is n values of f, which is Fixed within any number of fixed-size lists, over data.
func tensor(f *column.Field, n int, data []byte) *column.Array {
	a := &column.Array{Field: f, Len: n}
	if f.Kind == column.List {
		a.Children = []*column.Array{tensor(f.Children[0], n*f.ListSize, data)}
		return a
	}
	a.Data = data
	return a
}

// Release frees the batch's memory. The batch, its columns and all views of them must not be used
// afterwards; such a use is a column.ErrReleased if it is detected. Release may be called more than
// once.
func (b *Batch) Release() {
	if b.released.Swap(true) {
		return
	}
	for _, a := range b.Columns {
		empty(a)
	}
	b.Columns, b.Data = nil, nil
	b.memory.Free()
	if b.owner != nil {
		b.cleanup.Stop()
		b.owner.held.Add(-1)
	}
}

// empty detaches an array from its memory, so that a later use is an error and not another batch's
// values.
func empty(a *column.Array) {
	a.Valid, a.Offsets, a.Data = nil, nil, nil
	for _, c := range a.Children {
		empty(c)
	}
}

// An owner counts the batches that the consumer has not released. It knows nothing of the batches
// themselves, so that a batch that the consumer forgot becomes garbage.
type owner struct {
	held    atomic.Int64
	dropped atomic.Int64 // of those held, the ones that became garbage
}

// give counts the batch as the consumer's.
func (o *owner) give(b *Batch) {
	b.owner = o
	o.held.Add(1)
	b.cleanup = runtime.AddCleanup(b, func(o *owner) { o.dropped.Add(1) }, o)
}

// String is one line: step, rows and columns with their types and shapes.
func (b *Batch) String() string {
	if b.released.Load() {
		return fmt.Sprintf("epoch %d, step %d: released", b.Epoch, b.Step)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "epoch %d, step %d: %d rows", b.Epoch, b.Step, b.Rows)
	if b.Valid != b.Rows {
		fmt.Fprintf(&s, " (%d count)", b.Valid)
	}
	for i, a := range b.Columns {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&s, "%s%s %v", sep, a.Field.Name, a.Field)
	}
	return s.String()
}
