package parquet

import (
	"encoding/binary"
	"fmt"
)

// Window appends the runs of n levels behind the first skip to dst. It returns how many of the
// skipped and of the n are the greatest. The levels are not of the old BIT_PACKED encoding.
func (l *LevelRun) Window(dst []byte, skip, n int) (b []byte, before, within int, err error) {
	w := runWindow{runs: Runs{Src: l.Src, Width: l.width()}, dst: dst, counted: uint32(l.Max)}
	if before, err = w.walk(skip, false); err == nil {
		within, err = w.walk(n, true)
	}
	if err != nil {
		return dst, 0, 0, fmt.Errorf("%w: %w", ErrLevels, err)
	}
	return w.end(), before, within, nil
}

// Window appends the runs of n values behind the first skip to dst.
func (r *Runs) Window(dst []byte, skip, n int) ([]byte, error) {
	w := runWindow{runs: *r, dst: dst}
	_, err := w.walk(skip, false)
	if err == nil {
		_, err = w.walk(n, true)
	}
	return w.end(), err
}

// A runWindow writes a part of runs as runs of their own.
type runWindow struct {
	runs    Runs
	used    int // values of the current run
	counted uint32

	dst   []byte
	value uint32 // of the run that is written next
	n     int    // its values
	block [1024]uint32
}

// walk goes over n values, which it writes or leaves out, and returns how many are the counted one.
func (w *runWindow) walk(n int, write bool) (counted int, err error) {
	for n > 0 {
		if w.used == w.runs.N {
			if err := w.runs.Next(); err != nil {
				return 0, err
			}
			w.used = 0
		}
		k := min(n, w.runs.N-w.used)
		if w.runs.Packed != nil {
			k = w.unpack(min(k, len(w.block)-8))
			for _, v := range w.block[w.used%8:][:k] {
				counted += w.run(v, 1, write)
			}
		} else {
			counted += w.run(w.runs.Value, k, write)
		}
		w.used += k
		n -= k
	}
	return counted, nil
}

// unpack reads k values from the current place on, with those before them in their group of eight.
func (w *runWindow) unpack(k int) int {
	group := w.used / 8
	Unpack(w.block[:w.used%8+k], w.runs.Packed[group*int(w.runs.Width):], w.runs.Width)
	return k
}

func (w *runWindow) run(v uint32, n int, write bool) (counted int) {
	if v == w.counted {
		counted = n
	}
	if !write {
		return counted
	}
	if v != w.value {
		w.flush()
		w.value = v
	}
	w.n += n
	return counted
}

func (w *runWindow) flush() {
	if w.n == 0 {
		return
	}
	w.dst = binary.AppendUvarint(w.dst, uint64(w.n)<<1)
	for i := range int(w.runs.Width+7) / 8 {
		w.dst = append(w.dst, byte(w.value>>(8*i)))
	}
	w.n = 0
}

func (w *runWindow) end() []byte {
	w.flush()
	return w.dst
}
