package codec

import (
	"image"
	"slices"
)

// A Deepener is a Decoder that can keep samples of 16 bits. Otherwise they lose their lower 8.
type Deepener interface {
	KeepDepth()
}

// KeepDepth implements Deepener.
func (d *Go) KeepDepth() { d.deep = true }

// convertDeep writes a rectangle of a picture as RGB of 2 bytes a sample. It reports whether the
// picture has 16 bits.
func (d *Go) convertDeep(m image.Image, r image.Rectangle) bool {
	var pix []byte
	stride, each, channel := 0, 8, 2
	switch m := m.(type) {
	case *image.Gray16:
		pix, stride, each, channel = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride, 2, 0
	case *image.RGBA64:
		pix, stride = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride
	case *image.NRGBA64:
		pix, stride = m.Pix[m.PixOffset(r.Min.X, r.Min.Y):], m.Stride
	default:
		return false
	}
	n := 6 * r.Dx() * r.Dy()
	d.rgb = slices.Grow(d.rgb[:0], n)[:n]
	o := d.rgb
	for y := range r.Dy() {
		row := pix[y*stride:][:each*r.Dx()]
		for ; len(row) > 0; row, o = row[each:], o[6:] {
			copy(o, row[:2])
			copy(o[2:], row[channel:][:2])
			copy(o[4:], row[2*channel:][:2])
		}
	}
	return true
}

// narrow is a color of 65,535 as one of 255.
func narrow(c [3]uint16) (o [3]uint8) {
	for i, v := range c {
		o[i] = uint8((uint32(v) + 128) / 257)
	}
	return o
}
