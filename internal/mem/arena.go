package mem

import "slices"

// smallBytes is the size under which an arena packs several allocations into one buffer of the
// pool.
const smallBytes = 32 << 10

// An Arena is a set of buffers with one owner, given back together. It is not safe for concurrent
// use.
type Arena struct {
	pool   *Pool
	meter  *Meter
	bufs   [][]byte
	small  []byte // rest of the buffer that small allocations come from
	packed int64  // bytes of the buffers that small allocations came from
	bytes  int64
}

// NewArena returns an empty arena that takes its buffers from the pool.
func (p *Pool) NewArena() *Arena { return &Arena{pool: p} }

// Alloc returns n bytes, 64-byte aligned, with at least 64 readable and writable bytes of capacity
// behind them. The bytes are not zeroed.
func (a *Arena) Alloc(n int) []byte {
	need := (n + 64 + 63) &^ 63
	if need > smallBytes {
		return a.get(need)[:n]
	}
	if len(a.small) < need {
		a.small = a.get(int(min(4*smallBytes, max(smallBytes, a.packed)))) // an arena of little is little
		a.packed += int64(cap(a.small))
	}
	b := a.small[:n:need]
	a.small = a.small[need:]
	return b
}

// Need is how many bytes Alloc of n bytes adds to Bytes.
func (a *Arena) Need(n int) int64 {
	need := (n + 64 + 63) &^ 63
	switch {
	case need > smallBytes:
		return int64(classOf(need))
	case len(a.small) < need:
		return int64(classOf(int(min(4*smallBytes, max(smallBytes, a.packed)))))
	}
	return 0
}

// Ask lets the meter allow n bytes that are taken elsewhere, beside what the arenas have by now.
func (a *Arena) Ask(n int64) { a.meter.ask(n) }

// Grow returns a buffer of n bytes that starts with a copy of b. b must be the arena's and must not
// be used afterwards.
func (a *Arena) Grow(b []byte, n int) []byte {
	if n+64 <= cap(b) {
		return b[:n]
	}
	c := a.Alloc(max(n, 2*len(b)))[:n]
	copy(c, b)
	a.giveBack(b)
	return c
}

// Adopt takes over all buffers of another arena of the same pool and meter, which is empty
// afterwards.
func (a *Arena) Adopt(other *Arena) {
	a.bufs = append(a.bufs, other.bufs...)
	a.bytes += other.bytes
	clear(other.bufs)
	other.bufs, other.small, other.packed, other.bytes = other.bufs[:0], nil, 0, 0
}

// Bytes is the memory that the arena holds.
func (a *Arena) Bytes() int64 { return a.bytes }

// Free gives all buffers back. The arena is empty afterwards and can be used again.
func (a *Arena) Free() {
	for _, b := range a.bufs {
		a.pool.Put(b)
	}
	a.meter.count(-a.bytes)
	a.bufs, a.small, a.packed, a.bytes = a.bufs[:0], nil, 0, 0
}

// Leave detaches the arena from its meter. Its bytes stay a part of the meter's allowance.
func (a *Arena) Leave() {
	a.meter.leave(a.bytes)
	a.meter = nil
}

// Metered reports whether a meter counts the arena's memory.
func (a *Arena) Metered() bool { return a.meter != nil }

// get returns a buffer of the pool, which the meter has allowed.
func (a *Arena) get(n int) []byte {
	a.meter.ask(ClassBytes(int64(n)))
	b := a.pool.Get(n)
	a.bufs = append(a.bufs, b)
	a.bytes += int64(cap(b))
	a.meter.count(int64(cap(b)))
	return b
}

// giveBack releases b's buffer, if b has one of its own.
func (a *Arena) giveBack(b []byte) {
	i := slices.IndexFunc(a.bufs, func(c []byte) bool { return address(c) == address(b) })
	if i >= 0 && cap(a.bufs[i]) > 4*smallBytes {
		a.bytes -= int64(cap(a.bufs[i]))
		a.meter.count(-int64(cap(a.bufs[i])))
		a.pool.Put(a.bufs[i])
		a.bufs = slices.Delete(a.bufs, i, i+1)
	}
}
