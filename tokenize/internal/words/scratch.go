package words

import "unsafe"

// Kept is the size in bytes of the largest buffer that an encoder keeps from one text to the next.
const Kept = 64 << 10

// allocation is the unit in bytes in which Go allocates large buffers.
const allocation = 8 << 10

// Scratch counts the memory that a text takes while it is encoded: all buffers of more than Kept
// bytes, before they are allocated. nil counts nothing.
type Scratch struct {
	// Ask is called with the bytes of all buffers of the text, those that grew since included.
	// It may be nil.
	Ask   func(bytes int64)
	taken int64
}

// Reset starts the count of another text.
func (s *Scratch) Reset() { s.taken = 0 }

// Take counts a buffer that is about to be allocated.
func (s *Scratch) Take(bytes int) {
	if s == nil || bytes <= Kept {
		return
	}
	if s.taken += int64(bytes) + allocation; s.Ask != nil {
		s.Ask(s.taken)
	}
}

// Grow returns b with room for n more elements.
func Grow[T any](s *Scratch, b []T, n int) []T {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(len(b)+n, 2*cap(b))
	s.Take(size * int(unsafe.Sizeof(*new(T))))
	return append(make([]T, 0, size), b...)
}

// Trim returns b, or nil if it has more than Kept bytes.
func Trim[T any](b []T) []T {
	if cap(b)*int(unsafe.Sizeof(*new(T))) > Kept {
		return nil
	}
	return b
}
