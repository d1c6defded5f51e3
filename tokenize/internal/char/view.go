package char

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Slack is the number of bytes after a text that a View may read.
const Slack = 32

// A View reads a text of valid UTF-8 that [Pad] made.
type View struct{ base unsafe.Pointer }

// Of returns the view of a text that has Slack bytes of capacity after its end.
func Of(text []byte) View {
	ready.Do(load)
	return View{unsafe.Pointer(unsafe.SliceData(text))}
}

// Pad returns text with Slack bytes of capacity after its end. It copies text to buf if text has
// less.
func Pad(buf, text []byte) []byte {
	if cap(text)-len(text) >= Slack {
		return text
	}
	return slices.Grow(append(buf[:0], text...), Slack)
}

// At returns the byte at p.
func (v View) At(p int) byte { return *(*byte)(unsafe.Add(v.base, p)) }

// Load64 returns the 8 bytes from p on, the first as the lowest.
func (v View) Load64(p int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(v.base, p))[:])
}

// Bytes returns the bytes from p to end.
func (v View) Bytes(p, end int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(v.base, p)), end-p)
}

// Rune returns the character at p and its size.
func (v View) Rune(p int) (r uint32, size int) {
	x := uint32(v.At(p))
	switch {
	case x < 0x80:
		return x, 1
	case x < 0xe0:
		return x&0x1f<<6 | v.tail(p+1), 2
	case x < 0xf0:
		return x&0x0f<<12 | v.tail(p+1)<<6 | v.tail(p+2), 3
	}
	return x&0x07<<18 | v.tail(p+1)<<12 | v.tail(p+2)<<6 | v.tail(p+3), 4
}

func (v View) tail(p int) uint32 { return uint32(v.At(p)) & 0x3f }

// Kind returns the kind of the character at p and its size; both are 0 at end.
func (v View) Kind(p, end int) (k Kinds, size int) {
	if p >= end {
		return 0, 0
	}
	if x := v.At(p); x < 0x80 {
		return ascii[x], 1
	}
	r, size := v.Rune(p)
	return KindOf(r), size
}
