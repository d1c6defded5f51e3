package shuffle

import "math"

// EpochRows is the samples of an epoch of a mixture of sources that have so many each: until the
// first, or each, of those with a weight has given all of them, within a sample of each lane.
func (r *Ratio) EpochRows(stop Stop, rows []int64) (int64, error) {
	n := int64(math.MaxInt64)
	if stop == StopAll {
		n = 0
	}
	for d, w := range r.weights {
		switch {
		case w == 0:
		case stop == StopAll:
			n = max(n, int64(mulAddDiv(uint64(rows[d]), wholeWeight, uint64(w)-1, uint64(w))))
		default:
			n = min(n, mulDiv(rows[d], wholeWeight, w))
		}
	}
	if n < 1 || n > maxMixed {
		return 0, refuse("stop", "%q makes epochs of %d samples, it must be 1 to %d: give epoch_size", stop, n, int64(maxMixed))
	}
	return n, nil
}

// WholeSteps is the samples of an epoch under PerSource, which is of whole steps: rows, rounded up.
func WholeSteps(rows, globalBatch int64) int64 {
	return (rows + globalBatch - 1) / globalBatch * globalBatch
}

// A Portion is what [Portions] gives a buffer to.
type Portion struct {
	Weight int64 // of 2^20
	Rows   int64 // samples
	Bytes  int64 // of all of them; 1 a row divides a buffer of rows
}

// Portions divides a shuffle buffer among sources, in samples: in proportion to their weights, so
// that samples of all stay equally long in it. None gets more than it has, and what is left goes
// round again.
func Portions(size int64, all []Portion) []int64 {
	out := make([]int64, len(all))
	full := make([]bool, len(all))
	for again := true; again; {
		left, each := size, int64(0) // what those take that are not full, of 2^20 samples
		for d, p := range all {
			if full[d] {
				left -= out[d] * p.sampleBytes()
			} else {
				each += p.Weight * p.sampleBytes()
			}
		}
		again = false
		for d, p := range all {
			if full[d] {
				continue
			}
			out[d] = max(1, mulDiv(max(0, left), p.Weight, max(1, each)))
			if out[d] >= p.Rows {
				out[d], full[d], again = max(1, p.Rows), true, true
			}
		}
	}
	return out
}

func (p Portion) sampleBytes() int64 { return max(1, p.Bytes/max(1, p.Rows)) }
