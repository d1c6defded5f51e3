package gpu

import "fmt"

// batchAlign is the alignment of a batch's buffers, on the host and on the device.
const batchAlign = 256

func aligned(n int) int { return (n + batchAlign - 1) &^ (batchAlign - 1) }

// A slot is the memory of one batch at a time. It belongs to the caller of begin until Free.
type slot struct {
	ring   *Ring
	pieces []piece // the slot's own, then those of only the batch
}

// A piece is memory that is allocated from its start on.
type piece struct {
	memory HostMemory
	used   int // bytes, aligned
}

// fit makes the slot one piece of at least n bytes. The one it has is freed first, so that a slot
// never takes more than its place.
func (s *slot) fit(n int) error {
	if len(s.pieces) > 0 && len(s.pieces[0].memory.Bytes()) >= n {
		return nil
	}
	if len(s.pieces) > 0 {
		n += n / 8 // batches of one data set are much the same, and the largest comes last
		s.ring.mu.Lock()
		s.dropLocked(0)
		s.ring.stats.Grown++
		s.ring.mu.Unlock()
	}
	m, err := s.ring.alloc(n)
	if err != nil {
		return err
	}
	s.pieces = append(s.pieces, piece{memory: m})
	return nil
}

// dropLocked frees the pieces from the i-th on.
func (s *slot) dropLocked(i int) {
	for k := i; k < len(s.pieces); k++ {
		s.ring.dropLocked(s.pieces[k].memory)
		s.pieces[k] = piece{}
	}
	s.pieces = s.pieces[:min(i, len(s.pieces))]
}

// Alloc returns n bytes, 256-byte aligned.
func (s *slot) Alloc(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("gpu: %d is not a number of bytes", n)
	}
	p := &s.pieces[len(s.pieces)-1]
	if n > len(p.memory.Bytes())-p.used {
		var err error
		if p, err = s.grow(n); err != nil {
			return nil, err
		}
	}
	at := p.used
	p.used = min(at+aligned(n), len(p.memory.Bytes()))
	return p.memory.Bytes()[at : at+n : at+n], nil
}

// grow takes a further piece for the batch, which has room for n bytes.
func (s *slot) grow(n int) (*piece, error) {
	m, err := s.ring.alloc(max(n, len(s.pieces[0].memory.Bytes())/4))
	if err != nil {
		return nil, err
	}
	s.ring.mu.Lock()
	s.ring.stats.Pieces++
	s.ring.mu.Unlock()
	s.pieces = append(s.pieces, piece{memory: m})
	return &s.pieces[len(s.pieces)-1], nil
}

// bytes counts allocated bytes over all pieces.
func (s *slot) bytes() int {
	n := 0
	for _, p := range s.pieces {
		n += p.used
	}
	return n
}

// offset returns the position of b in the concatenated pieces, or -1 if it is not in them.
func (s *slot) offset(b []byte) int {
	before := 0
	for _, p := range s.pieces {
		if off := address(b) - address(p.memory.Bytes()); off < uintptr(p.used) && uintptr(len(b)) <= uintptr(p.used)-off {
			return before + int(off)
		}
		before += p.used
	}
	return -1
}

// Free gives the slot back. The batch's further pieces are freed, and the slot is made large enough
// for such a batch when it is used again.
func (s *slot) Free() {
	n := s.bytes()
	s.ring.mu.Lock()
	s.ring.want = max(s.ring.want, n)
	s.dropLocked(1)
	s.ring.mu.Unlock()
	if len(s.pieces) > 0 {
		s.pieces[0].used = 0
	}
	s.ring.put(s)
}
