package samples

import (
	"slices"
	"sync"
)

// mostLengths is how many documents' lengths a data set keeps: 4 MiB, which no account counts.
const mostLengths = 1 << 20

// A LengthStore keeps what counting the blocks found out about documents, so that loads need not
// read it again. It keeps the first that it gets; loads read the others. It is safe for concurrent
// use.
type LengthStore struct {
	mu   sync.Mutex
	of   map[LengthKey][]uint32
	held int
}

// A LengthKey names a unit of a source.
type LengthKey struct {
	Pack  *Packing
	Group int
	Lo    int64
}

// keep notes the tokens of each document of a unit.
func (s *LengthStore) keep(k LengthKey, each []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held - len(s.of[k]) + len(each)
	if held > mostLengths || len(each) == 0 {
		return
	}
	if s.of == nil {
		s.of = map[LengthKey][]uint32{}
	}
	s.of[k], s.held = slices.Clone(each), held
}

// Rows appends the tokens of each row of a unit, if the store has n documents of it.
func (s *LengthStore) Rows(k LengthKey, n int, dst []uint32) (tokens []uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each := s.of[k]
	return append(dst, each...), len(each) == n
}
