package loader

import (
	"github.com/shardfeed/shardfeed/iterable"
)

// A job is one batch in the making.
type job struct {
	seq    int64
	draw   *iterable.Draw
	memory Memory
	at     activity
	trail  iterable.Trail
	done   chan struct{} // closed when batch or err is set
	batch  *Batch
	err    error
}

// fail ends a job that no worker has.
func (j *job) fail(err error) {
	j.draw.Release()
	j.memory.Free()
	j.draw, j.memory, j.err = nil, nil, err
	close(j.done)
}
