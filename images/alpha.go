package images

import (
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// An alpha makes the fourth channel. It is scaled as the others, and does not change them, as in
// torchvision. Around a letterbox, and in files without alpha, it is opaque.
type alpha struct {
	writers writers
	source  resize.Source // three times the alpha; empty for a file without alpha
	rgb     []byte
	turned  []byte
	frame   frame
}

// take takes the alpha of decoded pixels.
func (c *alpha) take(p codec.Pixels, h codec.Header) {
	c.source.RGB = nil
	if p.Alpha == nil {
		return
	}
	pix, rect, each := p.Alpha, p.Rect, samplesOf(1, p.Deep)
	if h.Orientation != 1 {
		pix, rect = turnPixels(&c.turned, pix, each, rect, rect, h, p.Denom)
	}
	c.rgb = slices.Grow(c.rgb[:0], 3*len(pix))[:3*len(pix)]
	if p.Deep {
		for i := 0; i < len(pix); i += 2 {
			o, v := (*[6]byte)(c.rgb[3*i:]), (*[2]byte)(pix[i:])
			o[0], o[1], o[2], o[3], o[4], o[5] = v[0], v[1], v[0], v[1], v[0], v[1]
		}
	} else {
		for i, v := range pix {
			c.rgb[3*i], c.rgb[3*i+1], c.rgb[3*i+2] = v, v, v
		}
	}
	c.source = resize.Source{RGB: c.rgb, Rect: rect, Deep: p.Deep}
}

// write writes the channel of an image.
func (c *alpha) write(a *Augmenter, dst []byte, p *Params) error {
	o, bits := &a.options, a.bits()
	w, opaque := c.writers.of(o, bits, newAlpha), uint64(1)<<bits-1
	if err := w.to(dst, p.Flip); err != nil {
		return err
	}
	if c.source.RGB == nil {
		row := o.plain(opaque)
		for y := range o.Height {
			w.row(y, row)
		}
		return nil
	}
	if p.covers(o.Width, o.Height) {
		a.resizer.Resize(c.source, a.x, a.y, o.filter(), a.deepened(w.row))
		return nil
	}
	a.resizer.Resize(c.source, a.x, a.y, o.filter(), a.deepened(c.frame.around(o, p, w, opaque)))
	c.frame.end()
	return nil
}
