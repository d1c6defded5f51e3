package codec

import (
	"encoding/binary"
	"image"
	"image/color"
	"slices"
)

// A Blender is a Decoder that can lay pictures with alpha on a color, of 65,535. Otherwise alpha
// is dropped.
type Blender interface {
	Blend(background [3]uint16)
}

// Blend implements Blender.
func (d *Go) Blend(background [3]uint16) { d.background = &background }

// KeepAlpha lets Decode return alpha.
func (d *Go) KeepAlpha() { d.keep = true }

// alphaIn returns the alpha of a rectangle, of some bytes each, or nil without alpha.
func (d *Go) alphaIn(m image.Image, r image.Rectangle, each int) []byte {
	at, _ := alphaOf(m)
	if at == nil {
		return nil
	}
	d.alpha = slices.Grow(d.alpha[:0], each*r.Dx()*r.Dy())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			v := at(x, y)
			if d.alpha = append(d.alpha, v[0]); each == 2 {
				d.alpha = append(d.alpha, v[1])
			}
		}
	}
	return d.alpha
}

// blend lays samples of a rectangle on a background, as Pillow's Image.paste with the alpha as
// mask.
func blend[S uint8 | uint16](o []byte, m image.Image, r image.Rectangle, background [3]S) {
	alpha, premultiplied := alphaOf(m)
	if alpha == nil {
		return
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			a := sampleOf[S](alpha(x, y))
			for _, under := range background {
				v := sampleOf[S](o)
				if premultiplied {
					v += min(^S(0)-v, over(0, under, a))
				} else {
					v = over(v, under, a)
				}
				o = o[putSample(o, v):]
			}
		}
	}
}

// over is (a*alpha + b*(most-alpha)) / most, rounded.
func over[S uint8 | uint16](a, b, alpha S) S {
	most := uint32(^S(0))
	return S((uint32(a)*uint32(alpha) + uint32(b)*(most-uint32(alpha)) + most/2) / most)
}

// sampleOf returns the sample of type S at the start of some bytes, the upper byte first.
func sampleOf[S uint8 | uint16](b []byte) S {
	if uint32(^S(0)) == 0xff {
		return S(b[0])
	}
	return S(binary.BigEndian.Uint16(b))
}

// putSample writes a sample, and returns its bytes.
func putSample[S uint8 | uint16](b []byte, v S) int {
	if uint32(^S(0)) == 0xff {
		b[0] = byte(v)
		return 1
	}
	binary.BigEndian.PutUint16(b, uint16(v))
	return 2
}

// alphaOf returns the alpha of a picture's pixels, or nil without alpha, and whether its colors are
// multiplied by it. Of pictures with 16 bits it has 2 bytes, the upper one first, and else one.
func alphaOf(m image.Image) (at func(x, y int) []byte, premultiplied bool) {
	switch m := m.(type) {
	case *image.NRGBA:
		return func(x, y int) []byte { return m.Pix[m.PixOffset(x, y)+3:][:1] }, false
	case *image.NRGBA64:
		return func(x, y int) []byte { return m.Pix[m.PixOffset(x, y)+6:][:2] }, false
	case *image.NYCbCrA:
		return func(x, y int) []byte { return m.A[m.AOffset(x, y):][:1] }, false
	case *image.RGBA:
		return func(x, y int) []byte { return m.Pix[m.PixOffset(x, y)+3:][:1] }, true
	case *image.RGBA64:
		return func(x, y int) []byte { return m.Pix[m.PixOffset(x, y)+6:][:2] }, true
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
		return func(x, y int) []byte { return table[m.Pix[m.PixOffset(x, y)]:][:1] }, false
	}
	return nil, false
}
