package gpu

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A Batch is the rows of one step of one rank on a device, or on their way there.
//
// One goroutine uses a batch at a time. Its memory may be used after Wait has returned nil, and
// until Release.
type Batch struct {
	Columns []*Column // of Rows values each, in the order of the loader's batch
	Data    any       // what a custom collate put into the loader's batch; it must not point into that batch's memory, which is another's by now

	Rows  int // rows of every column
	Valid int // the first Valid rows count

	Epoch    int64
	Step     int64         // of the epoch, from 0
	Position int64         // rows of the epoch before this step, over all ranks
	State    shuffle.State // resumes after this batch

	buffers  *buffers
	buffer   *buffer
	arrived  chan struct{} // closed when the copy has ended, well or with err
	err      error
	holds    atomic.Int32 // of the consumer and of the copy; the last one gives the buffer back
	released atomic.Bool
	owner    *atomic.Int64 // counts the batches with the consumer; nil: not counted
	cleanup  runtime.Cleanup
}

// Wait waits until the batch is on the device. Its error is of the copy, or says why ctx ended.
func (b *Batch) Wait(ctx context.Context) error {
	select {
	case <-b.arrived:
		return b.err
	default:
	}
	select {
	case <-b.arrived:
		return b.err
	case <-ctx.Done():
		return cause.Of(ctx)
	}
}

// arrive ends the copy.
func (b *Batch) arrive(err error) {
	b.err = err
	close(b.arrived)
	b.leave()
}

// leave gives the buffer back when neither the consumer nor the copy needs it any more.
func (b *Batch) leave() {
	if b.holds.Add(-1) == 0 {
		b.buffers.put(b.buffer)
	}
}

// Column returns the column of that name, or the struct member that a dotted path leads to. An
// exact name wins over a path.
func (b *Batch) Column(name string) (*Column, error) {
	if b.released.Load() {
		return nil, ErrReleased
	}
	c, err := column.Find(b.Columns, name, members)
	if err != nil {
		return nil, fmt.Errorf("gpu: column %q: the batch has %w; take it by its place", name, err)
	}
	if c == nil {
		return nil, fmt.Errorf("gpu: the batch has no column %q", name)
	}
	return c, nil
}

// Memory returns the device memory of the columns, for copies with a stream; nil after Release.
func (b *Batch) Memory() DeviceMemory {
	if b.released.Load() {
		return nil
	}
	return b.buffer.memory
}

// Bytes is a span of a column where the device is the host; nil on others.
func (b *Batch) Bytes(s Span) []byte {
	m, ok := b.Memory().(HostMemory)
	if !ok || s.Bytes == 0 {
		return nil
	}
	off := int(s.Pointer - b.buffer.memory.Pointer())
	return m.Bytes()[off : off+s.Bytes : off+s.Bytes]
}

// Release gives the memory back; what the consumer gave the device to do with it is done by then,
// see ReleaseAfter. The batch and its columns must not be used afterwards. Release may be called
// more than once, and after the end of the iteration and the loader's Close.
func (b *Batch) Release() {
	if b.released.Swap(true) {
		return
	}
	for _, c := range b.Columns {
		c.empty()
	}
	b.Columns, b.Data = nil, nil
	if b.owner != nil {
		b.cleanup.Stop()
		b.owner.Add(-1)
	}
	b.leave()
}

// ReleaseAfter gives the memory back for the time when all that s was given until now is done: the
// copy of a later batch awaits that on the device, and the host does not wait; when the iteration
// has ended it does. After an error the batch is not released, and can be when s is known to have
// ended.
func (b *Batch) ReleaseAfter(s Stream) error {
	if b.released.Load() {
		return nil
	}
	if err := b.buffers.record(b.buffer, s); err != nil {
		return &Error{Device: b.buffers.device.Info().Name, Op: "release a batch", Epoch: b.Epoch, Step: b.Step, Err: err}
	}
	b.Release()
	return nil
}

// give counts the batch as the consumer's.
func (b *Batch) give(held *atomic.Int64) {
	b.owner = held
	held.Add(1)
	b.cleanup = runtime.AddCleanup(b, b.buffers.forget, b.buffer)
}

// String is one line: step, rows and columns with their types and shapes.
func (b *Batch) String() string {
	if b.released.Load() {
		return fmt.Sprintf("epoch %d, step %d: released", b.Epoch, b.Step)
	}
	s := fmt.Sprintf("epoch %d, step %d: %d rows (%d count) on %s", b.Epoch, b.Step, b.Rows, b.Valid, b.buffers.device.Info().Name)
	for _, c := range b.Columns {
		s += fmt.Sprintf(", %s %v", c.Field.Name, c.Field)
	}
	return s
}
