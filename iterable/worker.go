package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// WorkerInfo says which part of every step a stream takes: that of one of Workers equal workers in
// one of WorldSize ranks, as torch.distributed and torch.utils.data count them. The zero value
// takes all.
type WorkerInfo = shuffle.Worker

// whole fills in the counts that are left at zero.
func whole(w WorkerInfo) WorkerInfo {
	w.WorldSize = max(w.WorldSize, 1)
	w.Workers = max(w.Workers, 1)
	return w
}
