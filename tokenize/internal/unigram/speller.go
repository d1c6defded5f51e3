package unigram

import (
	"math/bits"

	"github.com/shardfeed/shardfeed/tokenize/internal/trie"
	"github.com/shardfeed/shardfeed/tokenize/internal/words"
)

// A speller divides words into tokens.
//
// For each place that a token may end at, it keeps the best sum and the last token of that sum. At a
// place that no token crosses, the tokens before are known, and it forgets them. It keeps the sum: a
// new one from zero would be rounded in another way.
type speller struct {
	words.Undivided
	m       *Model
	scratch *words.Scratch
	sums    []float64 // by place, in a ring
	last    []edge    // by place after done; 0 if no token ends there yet
	done    int       // tokens before this place are appended
	unk     int       // where an open run of unknown characters starts, or -1
}

// An edge is a token and its number of bytes.
type edge uint32

const idBits = 20

func newEdge(id int32, size int) edge { return edge(size)<<idBits | edge(id) }

func (e edge) id() int32 { return int32(e & (1<<idBits - 1)) }
func (e edge) size() int { return int(e >> idBits) }

func (m *Model) newSpeller(s *words.Scratch) *speller {
	return &speller{m: m, scratch: s, sums: make([]float64, 1<<bits.Len(uint(m.longest)))}
}

const flushBytes = 64 // before them, a place that no token crosses is not looked for

// Memory implements [words.Speller].
func (s *speller) Memory() int64 { return 8*int64(len(s.sums)) + 4*int64(cap(s.last)) }

// Trim implements [words.Speller].
func (s *speller) Trim() { s.last = words.Trim(s.last) }

// Spell implements [words.Speller].
func (s *speller) Spell(dst []int32, word []byte) []int32 {
	m, mask := s.m, len(s.sums)-1
	s.done, s.unk = 0, -1
	s.room(min(len(word), m.longest) + 1)
	s.sums[0] = 0
	furthest := 0
	for p := 0; p < len(word); {
		if p == furthest && p-s.done >= flushBytes {
			dst = s.flush(dst, word, p)
		}
		s.room(min(len(word), p+m.longest) - s.done + 1)
		size := characterSize(word[p])
		sum, known := s.sums[p&mask], false
		n := m.trie.Root()
		for q := p; q < len(word); {
			next, id, ok := m.trie.Step(n, word[q])
			if !ok {
				break
			}
			n = next
			q++
			if id == trie.None {
				continue
			}
			s.offer(q, newEdge(id, q-p), sum+m.scores[id])
			furthest = max(furthest, q)
			known = known || q-p == size
		}
		if !known {
			s.offer(p+size, newEdge(m.unknown, size), sum+m.unknownScore)
			furthest = max(furthest, p+size)
		}
		p += size
	}
	return s.close(s.flush(dst, word, len(word)), word)
}

// characterSize returns the size of a character by its first byte.
func characterSize(b byte) int { return max(1, bits.LeadingZeros8(^b)) }

// room makes last long enough for n places.
func (s *speller) room(n int) {
	if has := len(s.last); has < n {
		s.last = words.Grow(s.scratch, s.last, n-has)[:n]
		clear(s.last[has:])
	}
}

// offer keeps e as the last token before p, unless another has at least its sum.
func (s *speller) offer(p int, e edge, sum float64) {
	last, best := &s.last[p-s.done], &s.sums[p&(len(s.sums)-1)]
	if *last == 0 || sum > *best {
		*last, *best = e, sum
	}
}

// flush appends the tokens from done to p, which no token crosses.
func (s *speller) flush(dst []int32, word []byte, p int) []int32 {
	// Turn the path around: each token is moved from its end to its start.
	for at, e := p-s.done, s.last[p-s.done]; at > 0; {
		at -= e.size()
		s.last[at], e = e, s.last[at]
	}
	for at := s.done; at < p; {
		e := s.last[at-s.done]
		if e.id() != s.m.unknown {
			dst = append(s.close(dst, word[:at]), e.id())
		} else if s.unk < 0 {
			s.unk = at
		}
		at += e.size()
	}
	clear(s.last[:p-s.done+1]) // no token ends after p
	s.done = p
	return dst
}

// close appends the tokens of unknown characters at the end of text.
func (s *speller) close(dst []int32, text []byte) []int32 {
	if s.unk < 0 {
		return dst
	}
	run := text[s.unk:]
	s.unk = -1
	if id := s.m.token(run); id != trie.None {
		return append(dst, id)
	}
	if s.m.bytes == nil {
		return append(dst, s.m.unknown)
	}
	at := len(dst)
	for _, b := range run {
		id := s.m.bytes[b]
		if id < 0 {
			return append(dst[:at], s.m.unknown)
		}
		dst = append(dst, id)
	}
	return dst
}
