package loader

import "github.com/shardfeed/shardfeed/shuffle"

// A frontier is the state after the longest run of batches, from the first of an iteration on, that
// were all handed out: what resumes without losing a row when batches are handed out of order.
type frontier struct {
	next  int64 // the first batch that was not handed out
	ahead map[int64]shuffle.State
}

// take notes that batch seq was handed out and returns the state after the run; nil if the batch
// did not make it longer.
func (f *frontier) take(seq int64, after shuffle.State) *shuffle.State {
	if seq != f.next {
		if f.ahead == nil {
			f.ahead = map[int64]shuffle.State{}
		}
		f.ahead[seq] = after
		return nil
	}
	for {
		f.next++
		next, ok := f.ahead[f.next]
		if !ok {
			return &after
		}
		delete(f.ahead, f.next)
		after = next
	}
}
