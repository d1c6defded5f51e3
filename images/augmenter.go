package images

import (
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/paint"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// An Augmenter turns files into tensors. It keeps scratch memory, and is for one goroutine.
type Augmenter struct {
	options Options
	decoder codec.Decoder
	plain   codec.Go // decodes samples of one channel
	resizer resize.Resizer
	writers writers
	turned  []byte // the decoded rectangle as a person sees it
	narrow  []byte // its upper bytes
	deep    bool   // it has 16 bits
	alpha   alpha
	jitter  paint.Canvas // the picture, where the jitter needs all of it
	steps   steps
	frame   frame
	ops     []augment.Op
	source  resize.Source // what is scaled, by the spans
	x, y    resize.Span
	sampled sampled // the same for a nearest filter
}

// New makes an augmenter that decodes with a decoder, which Close closes. It makes one view at a
// time.
func New(o Options, d codec.Decoder) (*Augmenter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Views = 0
	a := &Augmenter{options: o.withDefaults(), decoder: d}
	if a.options.Channels == 4 {
		a.plain.KeepAlpha()
	}
	if a.options.deep() {
		a.plain.KeepDepth()
		if d, ok := d.(codec.Deepener); ok {
			d.KeepDepth()
		}
	}
	if o.Background.Given {
		b, ok := d.(codec.Blender)
		if !ok {
			return nil, fmt.Errorf("images: the decoder %T cannot lay alpha on a background", d)
		}
		b.Blend(a.options.color(o.Background.Channels))
	}
	return a, nil
}

// Close frees the decoder.
func (a *Augmenter) Close() error { return a.decoder.Close() }

// Memory is an upper bound of the scratch memory that files of such a header take.
func (a *Augmenter) Memory(h codec.Header) int64 {
	n := a.decoder.Memory(h) + 1<<20
	samples, words := int64(h.Width)*int64(h.Height), int64(1) // bytes of a channel, and sums of a pixel
	switch {
	case h.Bits > 8 && a.options.deep():
		samples, words = 2*samples, 3
		n += 1 << 20 // tables
	case h.Bits > 8: // upper bytes, where other options keep both
		n += 3 * samples
	}
	if h.Orientation != 1 {
		n += 3 * samples
	}
	n += 8 * int64(a.options.Height) * int64(a.options.Width)
	if a.options.Channels == 4 {
		n += 5 * samples
	}
	if a.options.Augment.On() { // the image, and a copy
		n += 16 * int64(a.options.Height) * int64(a.options.Width)
	}
	return n + 8*int64(max(h.Width, h.Height))*64*words
}

// Apply writes a view of a file to dst, which has the bytes of one. What dst holds after
// an error is undefined. The error is a *codec.Error for a file that cannot be decoded.
func (a *Augmenter) Apply(dst, data []byte, seed uint64) error {
	h, err := a.Header(data)
	if err != nil {
		return err
	}
	return a.ApplyTo(dst, data, h, seed)
}

// Header reads the header of a file, and checks the limits. The error is a *codec.Error.
func (a *Augmenter) Header(data []byte) (codec.Header, error) { return a.options.header(data) }

func (o *Options) header(data []byte) (codec.Header, error) {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return h, err
	}
	return h, o.check(h)
}

// Check checks the limits of a file with a header. The error is a *codec.Error.
func (a *Augmenter) Check(h codec.Header) error { return a.options.check(h) }

func (o *Options) check(h codec.Header) error {
	if o.Exact && (h.Width != o.Width || h.Height != o.Height) {
		return &codec.Error{Text: fmt.Sprintf("the picture is %d x %d, and the column is declared as %d x %d: give the column a size, to scale its pictures", h.Width, h.Height, o.Width, o.Height)}
	}
	return o.limits().Check(h)
}

// ApplyTo is Apply of a file whose Header is known: for a caller that finds the memory first.
func (a *Augmenter) ApplyTo(dst, data []byte, h codec.Header, seed uint64) error {
	size := a.options.Size(h)
	p := a.options.Draw(size.X, size.Y, seed)
	return a.apply(dst, data, h, &p, seed)
}

// apply writes the image of a file for the random part of the options. seed is for augment steps.
func (a *Augmenter) apply(dst, data []byte, h codec.Header, p *Params, seed uint64) error {
	if want := a.options.Bytes(); len(dst) != want {
		return fmt.Errorf("images: the destination has %d bytes, an image has %d", len(dst), want)
	}
	if a.options.IgnoreOrientation {
		h.Orientation = 1
	}
	if err := a.prepare(data, h, p); err != nil {
		return err
	}
	w := a.writers.of(&a.options, a.bits(), newWriter)
	if a.options.Augment.On() {
		w = a.steps.before(a, w, seed)
	}
	if err := w.to(dst, p.Flip); err != nil {
		return err
	}
	put := w.row
	framed := !p.covers(a.options.Width, a.options.Height)
	if framed {
		put = a.frame.around(&a.options, p, w, a.options.pixel(a.options.Fill, a.bits()))
	}
	if a.options.ColorJitter.on() {
		a.jittered(p, put)
	} else {
		a.scale(put)
	}
	if framed {
		a.frame.end()
	}
	if a.options.Channels == 4 {
		return a.alpha.write(a, dst, p)
	}
	return w.end()
}

// Blank writes the tensor of a row without a file: Options.Null.
func (a *Augmenter) Blank(dst []byte) error {
	o := &a.options
	a.deep = false
	w := a.writers.of(o, a.bits(), newWriter)
	if err := w.to(dst, false); err != nil {
		return err
	}
	row := o.plain(o.pixel(o.Null.Channels, a.bits()))
	for y := range o.Height {
		w.row(y, row)
	}
	if o.Channels == 4 {
		a.alpha.source.RGB = nil
		return a.alpha.write(a, dst, &Params{Size: image.Pt(o.Width, o.Height)})
	}
	return nil
}

// prepare decodes what a box needs.
func (a *Augmenter) prepare(data []byte, h codec.Header, p *Params) (err error) {
	if a.options.Channels == 1 && !h.OneChannel() {
		return &codec.Error{Format: h.Format, Text: fmt.Sprintf("it has %d channels, and channels is 1: gray, or a palette", h.Components)}
	}
	if a.options.Interpolation.nearest() {
		return a.sampled.prepare(a, data, h, p)
	}
	a.source, a.x, a.y, err = a.decode(data, h, p)
	return err
}

// scale calls put with the rows of the result from top to bottom, each valid until put returns.
func (a *Augmenter) scale(put func(i int, row resize.Row)) {
	put = a.deepened(put)
	if a.options.Interpolation.nearest() {
		a.sampled.put(put)
		return
	}
	a.resizer.Resize(a.source, a.x, a.y, a.options.filter(), put)
}

// jittered collects the whole picture, whose mean the contrast needs.
func (a *Augmenter) jittered(p *Params, put func(i int, row resize.Row)) {
	c := &a.jitter
	c.Pixels = c.Pixels[:0]
	a.scale(func(_ int, row resize.Row) { c.Append(row) })
	a.ops = augment.Jitter(a.ops[:0], p.Order, p.Factor)
	c.Apply(a.ops)
	for i := range c.Rows() {
		put(i, c.Row(i))
	}
}

// decode decodes what the box needs, and returns it upright with the spans that scale it.
func (a *Augmenter) decode(data []byte, h codec.Header, drawn *Params) (resize.Source, resize.Span, resize.Span, error) {
	denom := a.denom(h, drawn)
	need := a.needs(h, drawn, denom)
	if denom > 1 { // for a decoder that cannot scale
		need = need.Union(a.needs(h, drawn, 1))
	}
	d := a.decoder
	if a.options.Channels == 4 && h.Format != codec.JPEG {
		d = &a.plain // which keeps alpha
	}
	p, err := a.pixels(d, data, h, need, denom)
	if err != nil {
		return resize.Source{}, resize.Span{}, resize.Span{}, err
	}
	x, y := a.spans(h, drawn, p.Denom)
	if a.options.Channels == 4 {
		a.alpha.take(p, h)
	}
	s := resize.Source{RGB: p.RGB, Rect: p.Rect, Deep: p.Deep}
	if h.Orientation != 1 {
		s.RGB, s.Rect = turnPixels(&a.turned, p.RGB, samplesOf(3, p.Deep), p.Rect, a.touches(h, drawn, p.Denom), h, p.Denom)
	}
	if f := a.options.filter(); !covers(s.Rect, x, y, f) {
		return s, x, y, fmt.Errorf("images: the decoder returned %v for the box %v at 1/%d; this is a bug", s.Rect, drawn.Box, p.Denom)
	}
	return s, x, y, nil
}

// covers reports whether a rectangle contains the pixels that the spans need.
func covers(r image.Rectangle, x, y resize.Span, f resize.Filter) bool {
	left, right := x.Needs(f)
	top, bottom := y.Needs(f)
	return image.Rect(left, top, right, bottom).In(r)
}

// denom is the scale at which a box may be decoded.
func (a *Augmenter) denom(h codec.Header, p *Params) int {
	if h.Format != codec.JPEG || a.options.ReducingGap < 0 {
		return 1
	}
	for _, d := range []int{8, 4, 2} {
		gap := a.options.ReducingGap * float64(d)
		if float64(p.Box.Dx()) >= gap*float64(p.Size.X) && float64(p.Box.Dy()) >= gap*float64(p.Size.Y) {
			return d
		}
	}
	return 1
}

// needs returns the rectangle of the stored picture that the filter reads when it is decoded at a
// scale.
func (a *Augmenter) needs(h codec.Header, p *Params, denom int) image.Rectangle {
	r := a.touches(h, p, denom)
	r = image.Rect(r.Min.X*denom, r.Min.Y*denom, r.Max.X*denom, r.Max.Y*denom)
	return r.Intersect(h.Bounds())
}

// touches is needs in pixels of the picture at the scale.
func (a *Augmenter) touches(h codec.Header, p *Params, denom int) (r image.Rectangle) {
	x, y := a.spans(h, p, denom)
	f := a.options.filter()
	r.Min.X, r.Max.X = x.Needs(f)
	r.Min.Y, r.Max.Y = y.Needs(f)
	return stored(r, h, denom)
}

// spans are the two directions of a box's resize, in pixels of the upright picture at a scale.
func (a *Augmenter) spans(h codec.Header, p *Params, denom int) (x, y resize.Span) {
	w, ht := h.Size()
	mirrorX, mirrorY := mirrored(h.Orientation)
	x = span(p.Box.Min.X, p.Box.Max.X, w, denom, mirrorX)
	y = span(p.Box.Min.Y, p.Box.Max.Y, ht, denom, mirrorY)
	x.Out, y.Out = p.Size.X, p.Size.Y
	x.From, x.To = max(0, -p.At.X), min(p.Size.X, a.options.Width-p.At.X)
	y.From, y.To = max(0, -p.At.Y), min(p.Size.Y, a.options.Height-p.At.Y)
	return x, y
}

// span is a side of a box at a scale. A side of n pixels has ceil(n/denom) then: the last one is
// cut off, and it is the first one where the side is mirrored.
func span(from, to, n, denom int, mirror bool) resize.Span {
	d := float64(denom)
	all := (n + denom - 1) / denom
	shift := 0.0
	if mirror {
		shift = float64(all) - float64(n)/d
	}
	s := resize.Span{In0: float64(from)/d + shift, In1: float64(to)/d + shift}
	s.Lo = max(0, int(s.In0))
	s.Hi = min(all, int(s.In1))
	if float64(s.Hi) < s.In1 && s.Hi < all {
		s.Hi++
	}
	return s
}

// turnPixels makes a part of a rectangle of pixels, of some bytes each, upright, in a buffer that
// grows.
func turnPixels(buffer *[]byte, src []byte, each int, all, r image.Rectangle, h codec.Header, denom int) ([]byte, image.Rectangle) {
	r = r.Intersect(all)
	o := upright(r, h, denom)
	n := r.Dx() * r.Dy() * each
	*buffer = slices.Grow((*buffer)[:0], n)[:n]
	turned := *buffer
	// Where the first pixel goes, and how far the next ones to its right and below it are.
	at := func(x, y int) int {
		q := upright(image.Rect(x, y, x+1, y+1).Add(r.Min), h, denom).Min.Sub(o.Min)
		return each * (q.Y*o.Dx() + q.X)
	}
	first := at(0, 0)
	right, down := at(1, 0)-first, at(0, 1)-first
	for y := range r.Dy() {
		to, row := first+y*down, src[((r.Min.Y-all.Min.Y+y)*all.Dx()+r.Min.X-all.Min.X)*each:]
		for range r.Dx() {
			copy(turned[to:to+each], row)
			row, to = row[each:], to+right
		}
	}
	return turned, o
}
