package images

import (
	"encoding/binary"
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// A sampled is the pixels of some bytes each that a nearest filter picks from: of 1 or 2 bytes for
// one channel, of 3 or 6 for RGB.
type sampled struct {
	pix     []byte
	each    int
	rect    image.Rectangle
	columns []int32 // the first byte of each pixel in a row
	rows    []int32
	line    resize.Row
}

// prepare decodes a box.
func (s *sampled) prepare(a *Augmenter, data []byte, h codec.Header, p *Params) (err error) {
	if s.pix, s.each, s.rect, err = a.samples(data, h, stored(p.Box, h, 1)); err != nil {
		return err
	}
	if h.Orientation != 1 {
		s.pix, s.rect = turnPixels(&a.turned, s.pix, s.each, s.rect, s.rect, h, 1)
	}
	x, y := a.spans(h, p, 1)
	exact := a.options.Interpolation == NearestExact
	s.columns, s.rows = x.Nearest(exact, s.columns[:0]), y.Nearest(exact, s.rows[:0])
	for i := range s.columns {
		s.columns[i] = (s.columns[i] - int32(s.rect.Min.X)) * int32(s.each)
	}
	s.line = slices.Grow(s.line[:0], len(s.columns))[:len(s.columns)]
	return nil
}

// put calls put with each row.
func (s *sampled) put(put func(i int, row resize.Row)) {
	width := s.rect.Dx() * s.each
	for i, from := range s.rows {
		pick(s.line, s.pix[(int(from)-s.rect.Min.Y)*width:][:width], s.each, s.columns)
		put(i, s.line)
	}
}

// pick fills a row with the pixels that start at some bytes of a row.
func pick(o resize.Row, row []byte, each int, at []int32) {
	switch each {
	case 1:
		for i, c := range at {
			o[i] = uint64(row[c])
		}
	case 2:
		for i, c := range at {
			o[i] = uint64(row[c])<<8 | uint64(row[c+1])
		}
	case 3:
		for i, c := range at {
			o[i] = resize.Pack(row[c], row[c+1], row[c+2])
		}
	default:
		wide := binary.BigEndian.Uint16
		for i, c := range at {
			o[i] = resize.Pack(wide(row[c:]), wide(row[c+2:]), wide(row[c+4:]))
		}
	}
}

// samples decodes a rectangle of the stored picture to pixels of some bytes each.
func (a *Augmenter) samples(data []byte, h codec.Header, r image.Rectangle) (pix []byte, each int, covered image.Rectangle, err error) {
	if a.options.Channels == 3 || h.Format == codec.JPEG {
		p, err := a.pixels(a.decoder, data, h, r, 1)
		return p.RGB, samplesOf(3, p.Deep), p.Rect, err
	}
	if h.Bits > 8 && a.options.DType == Uint8 {
		return nil, 0, r, &codec.Error{Format: h.Format, Text: fmt.Sprintf("its samples have %d bits, and uint8 holds 8; give dtype uint16 or float32", h.Bits)}
	}
	s, err := a.plain.Samples(data, h, r)
	a.deep = s.Width == 2
	return s.Pix, s.Width, s.Rect, err
}
