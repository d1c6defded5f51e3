package codec

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"slices"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Go decodes in pure Go. It decodes whole pictures at full size, and converts only the requested
// part. The zero value is ready.
type Go struct {
	rgb    []byte
	chroma [2][]byte // an upsampled row of each plane
	sums   []int32

	background *[3]uint16 // under alpha; nil drops alpha
	keep       bool       // alpha
	alpha      []byte
	deep       bool // keep 16 bits
}

// Decode implements Decoder; the scale is always 1.
func (d *Go) Decode(data []byte, h Header, r image.Rectangle, _ int) (p Pixels, err error) {
	defer d.recovered(h, &err)
	m, r, err := d.picture(data, h, r)
	if err != nil {
		return p, err
	}
	p = Pixels{Rect: r, Denom: 1, Deep: d.deep && d.convertDeep(m, r)}
	each := 2
	if !p.Deep {
		each = 1
		d.rgb = slices.Grow(d.rgb[:0], 3*r.Dx()*r.Dy())[:3*r.Dx()*r.Dy()]
		if err := d.convert(m, h.Format, r); err != nil {
			return Pixels{}, err
		}
	}
	if d.background != nil && p.Deep {
		blend(d.rgb, m, r, *d.background)
	} else if d.background != nil {
		blend(d.rgb, m, r, narrow(*d.background))
	}
	p.RGB = d.rgb
	if d.keep {
		p.Alpha = d.alphaIn(m, r, each)
	}
	return p, nil
}

// Close implements Decoder.
func (d *Go) Close() error {
	*d = Go{background: d.background, keep: d.keep, deep: d.deep}
	return nil
}

// Memory implements Decoder: the picture as the libraries return it, a progressive JPEG's
// coefficients of 4 bytes, a WebP's Huffman trees, and the RGB pixels.
func (d *Go) Memory(h Header) int64 {
	more := int64(0)
	if d.deep && h.Bits > 8 { // pixels of 6 bytes in place of 3
		more = 3 * int64(h.Width) * int64(h.Height)
	}
	if h.Format == TIFF {
		return tiffMemory(h) + more
	}
	wide := func(n int) int64 { return (int64(n) + 63) &^ 31 } // planes are padded to whole MCUs
	pixels := wide(h.Width) * wide(h.Height)
	each := int64(8) // PNG of 16 bits; WebP with its lossless decoder's tables
	if h.Format == JPEG {
		each = int64(h.Components)
		if h.Components == 4 {
			each += 4
		}
		if h.Progressive {
			each += 4 * int64(h.Components)
		}
	}
	most := pixels*(each+3) + 128<<10 + more
	if h.Format == WebP {
		most += webpTrees(h) + 7*int64(h.Frame.Dx())*int64(h.Frame.Dy()) + int64(h.Frame.Dx())*8
	}
	return most
}

// webpTrees is the memory of the trees of x/image/vp8l: a group for every tile of 4 x 4 pixels,
// at most 2,600, with tables of 2.7 KB. The trees have at most 50 KB a group, and no more than
// the file can describe.
func webpTrees(h Header) int64 {
	groups := min(2600, int64((h.Width+3)/4)*int64((h.Height+3)/4)+1)
	return groups*2816 + min(groups*50<<10, 512*int64(h.Bytes))
}

func decodeAll(data []byte, f Format) (image.Image, error) {
	r := bytes.NewReader(data)
	switch f {
	case JPEG:
		return jpeg.Decode(r)
	case PNG:
		return png.Decode(r)
	case WebP:
		return webp.Decode(r)
	case GIF:
		return decodeGIF(r, data)
	case BMP:
		return bmp.Decode(r)
	case TIFF:
		return tiff.Decode(r)
	}
	return nil, fmt.Errorf("there is no decoder for %v", f)
}

// reason is a library's error in our words.
func reason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it is truncated"
	}
	if unsupported := jpeg.UnsupportedError(""); errors.As(err, &unsupported) {
		return fmt.Sprintf("image/jpeg does not support its %s; libjpeg-turbo may", string(unsupported))
	}
	return "it is damaged: " + err.Error()
}

// convert writes a rectangle of the picture as RGB.
func (d *Go) convert(m image.Image, f Format, r image.Rectangle) error {
	switch m := m.(type) {
	case *image.Gray:
		d.each(r, func(x, y int) (byte, byte, byte) { v := m.Pix[m.PixOffset(x, y)]; return v, v, v })
	case *image.Gray16: // the first byte is the upper one
		d.each(r, func(x, y int) (byte, byte, byte) { v := m.Pix[m.PixOffset(x, y)]; return v, v, v })
	case *image.RGBA:
		d.packed(r, m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 4, 1)
	case *image.NRGBA:
		d.packed(r, m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 4, 1)
	case *image.RGBA64:
		d.packed(r, m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 8, 2)
	case *image.NRGBA64:
		d.packed(r, m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 8, 2)
	case *image.CMYK:
		d.each(r, func(x, y int) (byte, byte, byte) {
			p := m.Pix[m.PixOffset(x, y):][:4]
			k := 255 - p[3]
			return mul255(255-p[0], k), mul255(255-p[1], k), mul255(255-p[2], k)
		})
	case *image.Paletted:
		table := palette(m.Palette)
		d.each(r, func(x, y int) (byte, byte, byte) {
			c := table[m.Pix[m.PixOffset(x, y)]]
			return c[0], c[1], c[2]
		})
	case *image.YCbCr:
		d.ycbcr(m, f, r)
	case *image.NYCbCrA:
		d.ycbcr(&m.YCbCr, f, r)
	default:
		return errorf(f, "the decoder returned a %T", m)
	}
	return nil
}

// each sets every pixel of a rectangle.
func (d *Go) each(r image.Rectangle, at func(x, y int) (byte, byte, byte)) {
	o := d.rgb
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			o[0], o[1], o[2] = at(x, y)
			o = o[3:]
		}
	}
}

// packed copies pixels of some bytes each, whose channels are some bytes apart.
func (d *Go) packed(r image.Rectangle, pix []byte, stride, each, channel int) {
	o := d.rgb
	for y := range r.Dy() {
		row := pix[y*stride:]
		for range r.Dx() {
			o[0], o[1], o[2] = row[0], row[channel], row[2*channel]
			o, row = o[3:], row[min(each, len(row)):]
		}
	}
}

// palette is the colors of a palette without their alpha. Its other entries are black.
func palette(p color.Palette) *[256][3]byte {
	t := new([256][3]byte)
	for i, c := range p {
		if i == len(t) {
			break
		}
		switch c := c.(type) {
		case color.RGBA:
			t[i] = [3]byte{c.R, c.G, c.B}
		case color.NRGBA:
			t[i] = [3]byte{c.R, c.G, c.B}
		case color.RGBA64: // of TIFF, as Pillow takes them
			t[i] = [3]byte{byte(c.R >> 8), byte(c.G >> 8), byte(c.B >> 8)}
		}
	}
	return t
}

// mul255 is a*b/255, rounded.
func mul255(a, b byte) byte {
	v := uint32(a)*uint32(b) + 128
	return byte((v + v>>8) >> 8)
}
