package roaring

import (
	"encoding/binary"
	"math/bits"
)

const magic = 1681511377

// Each calls f with the numbers of a bitmap as ranges from lo to hi - 1, in ascending order.
func Each(bitmap []byte, f func(lo, hi int64) error) error {
	r := &reader{left: bitmap, each: f}
	if m := r.uint32(); r.err == nil && m != magic {
		return damaged("it starts with %#x, and a 64-bit bitmap with %#x", m, magic)
	}
	last := int64(-1)
	for n := r.uint64(); n > 0 && r.err == nil; n-- {
		key := r.uint32()
		switch {
		case r.err != nil:
		case int64(key) <= last:
			return damaged("its keys are not in order")
		case key > 1<<31-1:
			return damaged("a number is above 2^63")
		default:
			last = int64(key)
			r.bitmap32(last << 32)
		}
	}
	if r.err == nil && len(r.left) > 0 {
		return damaged("%d bytes follow its end", len(r.left))
	}
	return r.err
}

// A reader consumes a bitmap. After an error it reads zeros.
type reader struct {
	left []byte
	each func(lo, hi int64) error
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.left) {
		r.err = damaged("it ends early")
	}
	if r.err != nil {
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) uint16() int64 {
	if b := r.take(2); b != nil {
		return int64(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) emit(lo, hi int64) {
	if r.err == nil {
		r.err = r.each(lo, hi)
	}
}

// Constants of a 32-bit bitmap.
const (
	cookieRuns   = 12347 // in the lower 16 bits, with the number of containers above
	cookieNoRuns = 12346
	minOffsets   = 4    // a bitmap with runs and fewer containers has no offsets
	maxArray     = 4096 // numbers of an array container; more are a bit set
	setBytes     = 8192 // of a bit set
	span         = 1 << 16
)

// bitmap32 reads the containers of one 32-bit bitmap, whose numbers start at base.
func (r *reader) bitmap32(base int64) {
	n, runs := r.cookie()
	heads := r.take(4 * n)
	if runs == nil || n >= minOffsets {
		r.take(4 * n) // offsets: containers are read in order
	}
	last := int64(-1)
	for i := 0; i < n && r.err == nil; i++ {
		key := int64(binary.LittleEndian.Uint16(heads[4*i:]))
		size := int64(binary.LittleEndian.Uint16(heads[4*i+2:])) + 1
		if key <= last {
			r.err = damaged("its containers are not in order")
			return
		}
		last = key
		switch lo := base + key*span; {
		case runs != nil && runs[i/8]>>(i%8)&1 == 1:
			r.runs(lo, size)
		case size <= maxArray:
			r.array(lo, size)
		default:
			r.set(lo, size)
		}
	}
}

// cookie returns the number of containers, and which of them are runs, a bit for each; nil if no
// container can be.
func (r *reader) cookie() (n int, runs []byte) {
	switch cookie := r.uint32(); {
	case r.err != nil:
	case cookie&0xffff == cookieRuns:
		n = int(cookie>>16) + 1
		runs = r.take((n + 7) / 8)
	case cookie == cookieNoRuns:
		if count := r.uint32(); count > span {
			r.err = damaged("it has %d containers", count)
		} else {
			n = int(count)
		}
	default:
		r.err = damaged("it has the cookie %d", cookie)
	}
	return n, runs
}

func (r *reader) runs(lo, size int64) {
	next, sum := int64(0), int64(0)
	for n := r.uint16(); n > 0 && r.err == nil; n-- {
		start := r.uint16()
		end := start + r.uint16() + 1
		if r.err != nil {
			return
		}
		if start < next || end > span {
			r.err = damaged("its runs are not in order")
			return
		}
		r.emit(lo+start, lo+end)
		next, sum = end, sum+end-start
	}
	r.check(sum, size)
}

func (r *reader) array(lo, size int64) {
	values := r.take(2 * int(size))
	last := int64(-1)
	for i := 0; i < len(values) && r.err == nil; {
		start := int64(binary.LittleEndian.Uint16(values[i:]))
		if start <= last {
			r.err = damaged("its numbers are not in order")
			return
		}
		last = start
		for i += 2; i < len(values) && int64(binary.LittleEndian.Uint16(values[i:])) == last+1; i += 2 {
			last++
		}
		r.emit(lo+start, lo+last+1)
	}
}

func (r *reader) set(lo, size int64) {
	words := r.take(setBytes)
	start, sum := int64(-1), int64(0) // start of the open range
	for at := int64(0); int(at/8) < len(words) && r.err == nil; at += 64 {
		word := binary.LittleEndian.Uint64(words[at/8:])
		sum += int64(bits.OnesCount64(word))
		for bit := 0; bit < 64; {
			rest := word >> bit
			if start >= 0 {
				rest = ^rest
			}
			ahead := min(bits.TrailingZeros64(rest), 64-bit)
			bit += ahead
			if bit == 64 {
				break
			}
			if start < 0 {
				start = at + int64(bit)
				continue
			}
			r.emit(lo+start, lo+at+int64(bit))
			start = -1
		}
	}
	if start >= 0 {
		r.emit(lo+start, lo+span)
	}
	r.check(sum, size)
}

func (r *reader) check(got, want int64) {
	if r.err == nil && got != want {
		r.err = damaged("a container has %d numbers, and says %d", got, want)
	}
}
