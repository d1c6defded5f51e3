package s3

import "github.com/shardfeed/shardfeed/shard"

// A scatter leads the bytes of a part, as they come, into the ranges that want them and past the others.
type scatter struct {
	off, end int64         // of the next byte, and of the part
	ranges   []shard.Range // that still want bytes; the first may have some already
	skipped  []byte        // where bytes go that nobody wants, over and over
}

func newScatter(p part, skipped []byte) *scatter {
	return &scatter{off: p.off, end: p.end, ranges: p.ranges, skipped: skipped}
}

// done reports whether all bytes are there.
func (s *scatter) done() bool { return s.off == s.end }

// next is where the next bytes go: never empty, never past a range's end.
func (s *scatter) next() []byte {
	r := s.ranges[0]
	if hole := r.Off - s.off; hole > 0 {
		return s.skipped[:min(hole, int64(len(s.skipped)))]
	}
	return r.P[s.off-r.Off:]
}

// took says that n bytes were put where next said.
func (s *scatter) took(n int) {
	s.off += int64(n)
	if r := s.ranges[0]; s.off == r.Span().End() {
		s.ranges = s.ranges[1:]
	}
}
