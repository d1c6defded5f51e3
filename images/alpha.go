package images

import (
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// An alpha makes the fourth channel. It is scaled as the others, and does not change them, as in
// torchvision. Around a letterbox, and in files without alpha, it is 255.
type alpha struct {
	writer writer
	source resize.Source // three times the alpha; empty for a file without alpha
	rgb    []byte
	turned []byte
	frame  frame
}

// take takes the alpha of decoded pixels.
func (c *alpha) take(p codec.Pixels, h codec.Header) {
	c.source.RGB = nil
	if p.Alpha == nil {
		return
	}
	pix, rect := p.Alpha, p.Rect
	if h.Orientation != 1 {
		pix, rect = turnPixels(&c.turned, pix, 1, rect, rect, h, p.Denom)
	}
	c.rgb = slices.Grow(c.rgb[:0], 3*len(pix))[:3*len(pix)]
	for i, v := range pix {
		c.rgb[3*i], c.rgb[3*i+1], c.rgb[3*i+2] = v, v, v
	}
	c.source = resize.Source{RGB: c.rgb, Rect: rect}
}

// write writes the channel of an image.
func (c *alpha) write(a *Augmenter, dst []byte, p *Params) error {
	o := &a.options
	opaque := [3]int{255, 255, 255}
	if err := c.writer.to(dst, p.Flip); err != nil {
		return err
	}
	if c.source.RGB == nil {
		row := o.plain(opaque)
		for y := range o.Height {
			c.writer.row(y, row)
		}
		return nil
	}
	if p.covers(o.Width, o.Height) {
		a.resizer.Resize(c.source, a.x, a.y, o.filter(), c.writer.row)
		return nil
	}
	a.resizer.Resize(c.source, a.x, a.y, o.filter(), c.frame.around(a, p, c.writer, opaque))
	c.frame.end()
	return nil
}
