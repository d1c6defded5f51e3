package gpu

import (
	"context"
	"fmt"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// batchAlign is the alignment of a batch's buffers, on the host and on the device.
const batchAlign = 256

func aligned(n int) int { return (n + batchAlign - 1) &^ (batchAlign - 1) }

// A slot is the memory of one batch at a time. It belongs to the caller of begin until Free.
type slot struct {
	ring   *Ring
	pieces []piece // the first belongs to the slot; the others only to the batch

	ctx     context.Context // of Make
	account *mem.Account    // of the batch; nil: the ring keeps to no stream's memory
	turn    *mem.Turn       // nil without an account
	scratch int64           // beside the pieces, until the batch is made
}

// A piece is memory that is allocated from its start on.
type piece struct {
	memory HostMemory
	used   int // bytes, aligned
}

// fit makes the slot one piece of at least n bytes, unless memory is scarce: the batch takes further
// pieces in its turn then. The piece that it has is freed first, so that a slot never takes more
// than its place.
func (s *slot) fit(n int) error {
	if len(s.pieces) > 0 && len(s.pieces[0].memory.Bytes()) >= n {
		return nil
	}
	if len(s.pieces) > 0 {
		n += n / 8 // batches of one data set are much the same, and the largest comes last
		if s.account != nil && !s.account.GrowPlenty(mem.Batch, int64(pieceBytes(n))) {
			return nil
		}
		s.ring.mu.Lock()
		s.dropLocked(0)
		s.ring.stats.Grown++
		s.ring.mu.Unlock()
	} else if s.account != nil {
		if err := s.account.Grow(mem.Batch, int64(pieceBytes(n))); err != nil {
			return err
		}
	}
	m, err := s.ring.alloc(n, s.account)
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
	n, err := s.room(n)
	if err != nil {
		return nil, err
	}
	m, err := s.ring.alloc(n, s.account)
	if err != nil {
		return nil, err
	}
	s.ring.mu.Lock()
	s.ring.stats.Pieces++
	s.ring.mu.Unlock()
	s.pieces = append(s.pieces, piece{memory: m})
	return &s.pieces[len(s.pieces)-1], nil
}

// room takes memory for a further piece of at least n bytes, and returns how many it is to have.
func (s *slot) room(n int) (int, error) {
	some := max(n, len(s.pieces[0].memory.Bytes())/4)
	if s.account == nil || s.account.GrowPlenty(mem.Batch, int64(pieceBytes(some))) {
		return some, nil
	}
	return n, s.turn.Grow(s.ctx, mem.Batch, int64(pieceBytes(n)), nil)
}

// Make sets the context of the waits for memory.
func (s *slot) Make(ctx context.Context) { s.ctx = ctx }

// Scratch takes n bytes for the making of the batch, until Made.
func (s *slot) Scratch(n int64) error {
	if s.account == nil {
		return nil
	}
	err := s.turn.Grow(s.ctx, mem.Batch, n, nil)
	if err == nil {
		s.scratch += n
	}
	return err
}

// Made frees the scratch. The batch takes nothing more.
func (s *slot) Made() {
	if s.account == nil {
		return
	}
	s.account.Release(mem.Batch, s.scratch)
	s.scratch = 0
	s.turn.Made()
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
	if s.turn != nil {
		s.Made()
		s.turn.Over()
	}
	s.ring.put(s)
}
