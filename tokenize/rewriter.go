package tokenize

import "github.com/shardfeed/shardfeed/tokenize/internal/words"

// A rewriter changes text before it is cut: it is a normalizer, or part of a pre-tokenizer. It is
// immutable.
type rewriter interface {
	// Append appends the changed text to dst. If changed is false, the text stays as it is, and
	// out has nothing of use beyond dst. text is valid UTF-8; dst does not overlap it.
	Append(dst, text []byte) (out []byte, changed bool)
	// Needs returns the bytes that Append appends at most, and the bytes of its buffers.
	Needs(text []byte) (size, beside int)
}

// A stage applies rewriters in their order.
type stage struct {
	rewriters []rewriter
	buffers   [2][]byte
	scratch   *words.Scratch
}

// apply returns the rewritten text. It is valid until the next call.
func (s *stage) apply(text []byte) []byte {
	to := 0 // the buffer that text is not in
	for _, r := range s.rewriters {
		size, beside := r.Needs(text)
		s.scratch.Take(beside)
		out, changed := r.Append(words.Grow(s.scratch, s.buffers[to][:0], size), text)
		s.buffers[to] = out
		if changed {
			text = out
			to ^= 1
		}
	}
	return text
}

func (s *stage) memory() int64 { return int64(cap(s.buffers[0]) + cap(s.buffers[1])) }

// trim drops long buffers.
func (s *stage) trim() {
	for i, b := range s.buffers {
		s.buffers[i] = words.Trim(b)
	}
}
