package codec

import (
	"image"
	"slices"
)

// Samples is a decoded rectangle of a picture with one channel, as the file stores it.
type Samples struct {
	Pix   []byte // of Rect, rows without padding
	Width int    // bytes of a sample: 1, or 2 with the upper byte first
	Rect  image.Rectangle
}

// OneChannel reports whether a picture has samples of one channel: gray values, or the indices of a
// palette. Alpha beside it does not count.
func (h Header) OneChannel() bool { return h.Indexed || h.Components <= 2 }

// Samples decodes a rectangle of a picture with one channel. Gray of fewer than 8 bits is scaled to
// 8, indices are as they are. The samples are valid until the next call.
func (d *Go) Samples(data []byte, h Header, r image.Rectangle) (s Samples, err error) {
	if !h.OneChannel() {
		return s, errorf(h.Format, "it has %d channels, and one is asked for: gray, or a palette", h.Components)
	}
	defer d.recovered(h, &err)
	m, r, err := d.picture(data, h, r)
	if err != nil {
		return s, err
	}
	s = Samples{Width: 1, Rect: r}
	pix, stride, each := []byte(nil), 0, 1
	switch m := m.(type) {
	case *image.Gray:
		pix, stride = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride
	case *image.Gray16:
		pix, stride, each, s.Width = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 2, 2
	case *image.Paletted:
		pix, stride = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride
	case *image.NRGBA: // gray and alpha
		pix, stride, each = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 4
	case *image.NRGBA64:
		pix, stride, each, s.Width = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 8, 2
	default:
		return s, errorf(h.Format, "the decoder returned a %T", m)
	}
	n := s.Width * r.Dx() * r.Dy()
	d.rgb = slices.Grow(d.rgb[:0], n)[:n]
	s.Pix = d.rgb
	for y, o := 0, s.Pix; y < r.Dy(); y++ {
		row := pix[y*stride:]
		if each == s.Width {
			o = o[copy(o, row[:each*r.Dx()]):]
			continue
		}
		for x := range r.Dx() {
			o = o[copy(o, row[x*each:][:s.Width]):]
		}
	}
	return s, nil
}

// recovered makes an error of a panic. The decoders are fuzzed, and still others' code: a bug in
// one ends the row, not the process.
func (d *Go) recovered(h Header, err *error) {
	if v := recover(); v != nil {
		*err = errorf(h.Format, "the decoder panicked: %v", v)
	}
}

// picture decodes a whole picture, and returns the part of a rectangle that is inside it.
func (d *Go) picture(data []byte, h Header, r image.Rectangle) (image.Image, image.Rectangle, error) {
	r = r.Intersect(h.Bounds())
	if r.Empty() {
		return nil, r, errorf(h.Format, "the rectangle %v is outside of its %d x %d pixels", r, h.Width, h.Height)
	}
	if animated := h.Format == WebP && !h.Frame.Empty(); animated {
		m, err := d.frame(data, h)
		return m, r, err
	}
	m, err := decodeAll(data, h.Format)
	if err != nil && h.Progressive && h.Restarts && h.MCUWidth*h.MCUHeight > 64 {
		// It expects them where the MCUs of interleaved scans end.
		return nil, r, &Error{Format: h.Format, Text: "image/jpeg cannot decode progressive files that have restart markers and subsampled colors; libjpeg-turbo can", Err: err}
	}
	if err != nil {
		return nil, r, &Error{Format: h.Format, Text: reason(err), Err: err}
	}
	if m.Bounds() != h.Bounds() {
		return nil, r, errorf(h.Format, "its header says %v, its picture is %v", h.Bounds().Size(), m.Bounds().Size())
	}
	return m, r, nil
}
