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

// Rows returns the number of rows that start in repetition levels, and the entries at which rows lo
// and hi start, or N if there are fewer. The levels must not have the old BIT_PACKED encoding.
func (l *LevelRun) Rows(lo, hi int64) (from, to int, rows int64, err error) {
	w := rowWalk{lo: lo, hi: hi, from: l.N, to: l.N}
	r := Runs{Src: l.Src, Width: l.width()}
	for at := 0; at < l.N; {
		if err := r.Next(); err != nil {
			return 0, 0, 0, fmt.Errorf("%w: %w", ErrLevels, err)
		}
		n := min(r.N, l.N-at)
		switch {
		case r.Packed != nil:
			w.packed(&r, at, n)
		case r.Value == 0:
			w.begin(at, n)
		}
		at += n
	}
	return w.from, w.to, w.rows, nil
}

// A rowWalk counts rows by their repetition levels.
type rowWalk struct {
	lo, hi, rows int64
	from, to     int
	block        [1024]uint32
}

// begin counts n rows of one entry each, from an entry on.
func (w *rowWalk) begin(at, n int) {
	if i := w.lo - w.rows; 0 <= i && i < int64(n) {
		w.from = at + int(i)
	}
	if i := w.hi - w.rows; 0 <= i && i < int64(n) {
		w.to = at + int(i)
	}
	w.rows += int64(n)
}

func (w *rowWalk) packed(r *Runs, at, n int) {
	for k := 0; k < n; k += len(w.block) {
		some := w.block[:min(len(w.block), n-k)]
		Unpack(some, r.Packed[k/8*int(r.Width):], r.Width)
		for i, level := range some {
			if level == 0 {
				w.begin(at+k+i, 1)
			}
		}
	}
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
