package images

import (
	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/internal/image/paint"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A steps is a writer in front of another one. It collects the image, flips it, takes the steps of
// Options.Augment, and writes it.
type steps struct {
	image paint.Canvas
	ops   []augment.Op // of the image
	next  writer
	dst   []byte
	flip  bool
}

// before starts an image that goes to a writer.
func (s *steps) before(a *Augmenter, next writer, seed uint64) writer {
	o := &a.options
	s.ops = o.Augment.Draw(s.ops[:0], o.Width, o.Height, seed)
	s.next = next
	return s
}

func (s *steps) to(dst []byte, flip bool) error {
	s.image.Pixels, s.dst, s.flip = s.image.Pixels[:0], dst, flip
	return nil
}

func (s *steps) row(_ int, row resize.Row) {
	s.image.Append(row)
	if s.flip {
		s.image.FlipLast()
	}
}

func (s *steps) end() error {
	s.image.Apply(s.ops)
	if err := s.next.to(s.dst, false); err != nil {
		return err
	}
	for y := range s.image.Rows() {
		s.next.row(y, s.image.Row(y))
	}
	return s.next.end()
}
