package codec

import (
	"image"
	"image/color"
	"slices"
)

// A Blender is a Decoder that can lay pictures with alpha on a color. Otherwise alpha is dropped.
type Blender interface {
	Blend(background [3]byte)
}

// Blend implements Blender.
func (d *Go) Blend(background [3]byte) { d.background = &background }

// KeepAlpha lets Decode return alpha.
func (d *Go) KeepAlpha() { d.keep = true }

// alphaIn returns the alpha of a rectangle, or nil without alpha.
func (d *Go) alphaIn(m image.Image, r image.Rectangle) []byte {
	at, _ := alphaOf(m)
	if at == nil {
		return nil
	}
	d.alpha = slices.Grow(d.alpha[:0], r.Dx()*r.Dy())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			d.alpha = append(d.alpha, at(x, y))
		}
	}
	return d.alpha
}

// blend lays the decoded pixels of a rectangle on the background, as Pillow's Image.paste with the
// alpha as mask.
func (d *Go) blend(m image.Image, r image.Rectangle) {
	alpha, premultiplied := alphaOf(m)
	if alpha == nil {
		return
	}
	o := d.rgb
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			a := alpha(x, y)
			for c, under := range d.background {
				if premultiplied {
					o[c] += min(255-o[c], mul255(under, 255-a))
				} else {
					o[c] = over(o[c], under, a)
				}
			}
			o = o[3:]
		}
	}
}

// over is (a*alpha + b*(255-alpha)) / 255, rounded.
func over(a, b, alpha byte) byte {
	v := uint32(a)*uint32(alpha) + uint32(b)*uint32(255-alpha) + 128
	return byte((v + v>>8) >> 8)
}

// alphaOf returns the alpha of a picture's pixels, or nil without alpha, and whether its colors are
// multiplied by it.
func alphaOf(m image.Image) (at func(x, y int) byte, premultiplied bool) {
	switch m := m.(type) {
	case *image.NRGBA:
		return func(x, y int) byte { return m.Pix[m.PixOffset(x, y)+3] }, false
	case *image.NRGBA64:
		return func(x, y int) byte { return m.Pix[m.PixOffset(x, y)+6] }, false
	case *image.NYCbCrA:
		return func(x, y int) byte { return m.A[m.AOffset(x, y)] }, false
	case *image.RGBA:
		return func(x, y int) byte { return m.Pix[m.PixOffset(x, y)+3] }, true
	case *image.RGBA64:
		return func(x, y int) byte { return m.Pix[m.PixOffset(x, y)+6] }, true
	case *image.Paletted:
		var table [256]byte
		for i := range table {
			table[i] = 255
			if i < len(m.Palette) {
				if c, ok := m.Palette[i].(color.NRGBA); ok {
					table[i] = c.A
				}
			}
		}
		return func(x, y int) byte { return table[m.Pix[m.PixOffset(x, y)]] }, false
	}
	return nil, false
}
