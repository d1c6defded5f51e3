package iterable

import (
	"fmt"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// The spans of epochs are what their steps take, for all small settings.
func TestEpochSpans(t *testing.T) {
	for _, tail := range []shuffle.Tail{shuffle.Drop, shuffle.Pad, shuffle.Short, shuffle.Carry} {
		for rows := int64(1); rows <= 12; rows++ {
			for g := int64(1); g <= 15; g++ {
				for pos := int64(0); pos < rows; pos++ {
					start := stepper{Steps: shuffle.Steps{Rows: rows, GlobalBatch: g, Tail: tail}, epoch: 2, pos: pos, end: 5}
					if start.Validate() != nil {
						continue
					}
					checkSpans(t, start)
				}
			}
		}
	}
}

// Under Carry the steps of some epochs are all whole steps that their rows fill, also where an
// epoch is shorter than a step.
func TestStepsOfShortEpochs(t *testing.T) {
	for rows := int64(1); rows <= 12; rows++ {
		for g := int64(1); g <= 40; g++ {
			for epochs := uint64(1); epochs <= 5; epochs++ {
				steps := stepper{Steps: shuffle.Steps{Rows: rows, GlobalBatch: g, Tail: shuffle.Carry}, epoch: 2, end: 2 + epochs}
				n := int64(0)
				for {
					st, ok := steps.next()
					if !ok {
						break
					}
					if at := int64(st.epoch-2)*rows + st.pos; at != n*g {
						t.Fatalf("%d rows, steps of %d: step %d is at %d", rows, g, n, at)
					}
					n++
				}
				if want := int64(epochs) * rows / g; n != want {
					t.Fatalf("%d epochs of %d rows have %d steps of %d, want %d", epochs, rows, n, g, want)
				}
			}
		}
	}
}

func checkSpans(t *testing.T, start stepper) {
	t.Helper()
	type took struct{ low, high, first int64 }
	byEpoch := map[uint64]took{}
	steps := start
	for {
		st, ok := steps.next()
		if !ok {
			break
		}
		e, lo, hi := st.epoch, st.pos, st.pos+st.rows
		for began := true; hi > 0; began = false {
			x, seen := byEpoch[e]
			if !seen {
				x = took{low: lo, first: -1}
			}
			if began && x.first < 0 {
				x.first = lo
			}
			x.high = max(x.high, min(hi, start.Rows))
			byEpoch[e] = x
			e, lo, hi = e+1, 0, hi-start.Rows
		}
	}
	for e, x := range byEpoch {
		got := start.stretch(e)
		at := fmt.Sprintf("%+v, epoch %d: %+v, taken were %+v", start, e, got, x)
		if got.from > x.low || got.to < x.high {
			t.Fatalf("%s: rows are missing", at)
		}
		if got.to > x.high && !(start.Tail == shuffle.Carry && x.high < start.Rows) {
			t.Fatalf("%s: it reads on", at)
		}
		if x.first >= 0 && got.first != x.first && start.Rows >= start.GlobalBatch {
			t.Fatalf("%s: the first step is elsewhere", at)
		}
	}
}
