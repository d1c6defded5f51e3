package images

import (
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// deep reports whether samples of 16 bits are kept. Types of 8 bits cannot hold them, and jitter
// and the steps of Augment change 8 bits.
func (o *Options) deep() bool { return o.DType != Uint8 && !o.ColorJitter.on() && !o.Augment.On() }

// stored reports whether samples are taken as the file has them, without a scale.
func (o *Options) stored() bool { return o.Channels == 1 && o.Interpolation.nearest() }

// color returns an option that is a color, of each channel as of 65,535.
func (o *Options) color(c [3]int) (wide [3]uint16) {
	scale := 257
	if o.DType == Uint16 {
		scale = 1
	}
	for i, v := range c {
		wide[i] = uint16(v * scale)
	}
	return wide
}

// pixel returns a color as a pixel of rows of 8 or 16 bits.
func (o *Options) pixel(c [3]int, bits int) uint64 {
	p := resize.Pack(byte(c[0]), byte(c[1]), byte(c[2]))
	if bits == 16 {
		wide := o.color(c)
		p = resize.Pack(wide[0], wide[1], wide[2])
	}
	return p
}

// writers are the writers of rows of 8 and of 16 bits. Each is made when it is first needed.
type writers [2]writer

func (w *writers) of(o *Options, bits int, make func(Options, int) writer) writer {
	own := &w[bits/16]
	if *own == nil {
		*own = make(*o, bits)
	}
	return *own
}

// bits returns the bits of the samples in rows: all rows of a uint16 tensor have 16.
func (a *Augmenter) bits() int {
	if a.deep || a.options.DType == Uint16 {
		return 16
	}
	return 8
}

// deepened returns put, or a function that scales rows of 8 bits to 16 before that.
func (a *Augmenter) deepened(put func(i int, row resize.Row)) func(i int, row resize.Row) {
	if a.deep || a.options.DType != Uint16 || a.options.stored() {
		return put
	}
	return func(i int, row resize.Row) {
		row.Deepen()
		put(i, row)
	}
}

// pixels decodes a rectangle, and sets whether its samples have 16 bits.
func (a *Augmenter) pixels(d codec.Decoder, data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	p, err := d.Decode(data, h, r, denom)
	if p.Deep && !a.options.deep() { // other options share the decoder, and need them
		n := len(p.RGB) / 2
		a.narrow = slices.Grow(a.narrow[:0], n)[:n]
		for i := range a.narrow {
			a.narrow[i] = p.RGB[2*i]
		}
		p.RGB, p.Deep = a.narrow, false
	}
	a.deep = p.Deep
	return p, err
}

// samplesOf returns the bytes of n samples.
func samplesOf(n int, deep bool) int {
	if deep {
		return 2 * n
	}
	return n
}
