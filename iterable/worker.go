package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// whole fills in the counts that are left at zero.
func whole(w shuffle.Worker) shuffle.Worker {
	w.WorldSize = max(w.WorldSize, 1)
	w.Workers = max(w.Workers, 1)
	return w
}
