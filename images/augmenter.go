package images

import (
	"fmt"
	"image"
	"slices"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// An Augmenter turns files into tensors. It keeps scratch memory, and is for one goroutine.
type Augmenter struct {
	options Options
	decoder codec.Decoder
	resizer resize.Resizer
	writer  writer
	turned  []byte     // the decoded rectangle as a person sees it
	pixels  resize.Row // the whole result, where the jitter needs it
}

// New makes an augmenter that decodes with a decoder, which Close closes.
func New(o Options, d codec.Decoder) (*Augmenter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a := &Augmenter{options: o.withDefaults(), decoder: d}
	a.writer = newWriter(a.options)
	return a, nil
}

// Close frees the decoder.
func (a *Augmenter) Close() error { return a.decoder.Close() }

// Memory is an upper bound of the scratch memory that files of such a header take.
func (a *Augmenter) Memory(h codec.Header) int64 {
	n := a.decoder.Memory(h) + 1<<20
	if h.Orientation != 1 {
		n += 3 * int64(h.Width) * int64(h.Height)
	}
	return n + 8*int64(a.options.Height)*int64(a.options.Width) + 8*int64(max(h.Width, h.Height))*64
}

// Apply writes the tensor of a file to dst, which has Options.Bytes bytes. What dst holds after
// an error is undefined. The error is a *codec.Error for a file that cannot be decoded.
func (a *Augmenter) Apply(dst, data []byte, seed uint64) error {
	h, err := a.Header(data)
	if err != nil {
		return err
	}
	return a.ApplyTo(dst, data, h, seed)
}

// Header reads the header of a file, and checks the limits. The error is a *codec.Error.
func (a *Augmenter) Header(data []byte) (codec.Header, error) {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return h, err
	}
	if o := &a.options; o.Exact && (h.Width != o.Width || h.Height != o.Height) {
		return h, &codec.Error{Text: fmt.Sprintf("the picture is %d x %d, and the column is declared as %d x %d: give the column a size, to scale its pictures", h.Width, h.Height, o.Width, o.Height)}
	}
	return h, a.options.limits().Check(h)
}

// ApplyTo is Apply of a file whose Header is known: for a caller that finds the memory first.
func (a *Augmenter) ApplyTo(dst, data []byte, h codec.Header, seed uint64) error {
	if want := a.options.Bytes(); len(dst) != want {
		return fmt.Errorf("images: the destination has %d bytes, an image has %d", len(dst), want)
	}
	if a.options.IgnoreOrientation {
		h.Orientation = 1
	}
	width, height := h.Size()
	p := a.options.Draw(width, height, seed)
	s, x, y, err := a.decode(data, h, p.Box)
	if err != nil {
		return err
	}
	if err := a.writer.to(dst, p.Flip); err != nil {
		return err
	}
	if !a.options.ColorJitter.on() {
		a.resizer.Resize(s, x, y, a.options.filter(), a.writer.row)
		return nil
	}
	a.jittered(s, x, y, &p)
	return nil
}

// jittered collects the whole result, whose mean the contrast needs.
func (a *Augmenter) jittered(s resize.Source, x, y resize.Span, p *Params) {
	a.pixels = a.pixels[:0]
	a.resizer.Resize(s, x, y, a.options.filter(), func(_ int, row resize.Row) { a.pixels = append(a.pixels, row...) })
	p.jitter(a.pixels)
	w := a.options.Width
	for i := range a.options.Height {
		a.writer.row(i, a.pixels[i*w:][:w])
	}
}

// decode decodes what the box needs, and returns it upright with the spans that scale it.
func (a *Augmenter) decode(data []byte, h codec.Header, box image.Rectangle) (resize.Source, resize.Span, resize.Span, error) {
	denom := a.denom(h, box)
	need := a.needs(h, box, denom)
	if denom > 1 { // for a decoder that cannot scale
		need = need.Union(a.needs(h, box, 1))
	}
	p, err := a.decoder.Decode(data, h, need, denom)
	if err != nil {
		return resize.Source{}, resize.Span{}, resize.Span{}, err
	}
	x, y := a.spans(h, box, p.Denom)
	s := resize.Source{RGB: p.RGB, Rect: p.Rect}
	if h.Orientation != 1 {
		s = a.turn(p, h)
	}
	if f := a.options.filter(); !covers(s.Rect, x, y, f) {
		return s, x, y, fmt.Errorf("images: the decoder returned %v for the box %v at 1/%d; this is a bug", s.Rect, box, p.Denom)
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
func (a *Augmenter) denom(h codec.Header, box image.Rectangle) int {
	if h.Format != codec.JPEG || a.options.ReducingGap < 0 {
		return 1
	}
	width, height := a.scaled(box)
	for _, d := range []int{8, 4, 2} {
		gap := a.options.ReducingGap * float64(d)
		if float64(box.Dx()) >= gap*float64(width) && float64(box.Dy()) >= gap*float64(height) {
			return d
		}
	}
	return 1
}

// scaled returns the size to scale the box to; a center crop then takes a part of it.
func (a *Augmenter) scaled(box image.Rectangle) (width, height int) {
	o := &a.options
	if o.Crop != CropCenter {
		return o.Width, o.Height
	}
	w, h := box.Dx(), box.Dy()
	if w <= h {
		return o.Resize, max(1, o.Resize*h/w)
	}
	return max(1, o.Resize*w/h), o.Resize
}

// needs returns the rectangle of the stored picture that the filter reads when it is decoded at a
// scale.
func (a *Augmenter) needs(h codec.Header, box image.Rectangle, denom int) image.Rectangle {
	x, y := a.spans(h, box, denom)
	f := a.options.filter()
	var r image.Rectangle
	r.Min.X, r.Max.X = x.Needs(f)
	r.Min.Y, r.Max.Y = y.Needs(f)
	r = stored(r, h, denom)
	r = image.Rect(r.Min.X*denom, r.Min.Y*denom, r.Max.X*denom, r.Max.Y*denom)
	return r.Intersect(h.Bounds())
}

// spans are the two directions of a box's resize, in pixels of the upright picture at a scale.
func (a *Augmenter) spans(h codec.Header, box image.Rectangle, denom int) (x, y resize.Span) {
	width, height := a.scaled(box)
	w, ht := h.Size()
	mirrorX, mirrorY := mirrored(h.Orientation)
	x = span(box.Min.X, box.Max.X, w, denom, mirrorX)
	y = span(box.Min.Y, box.Max.Y, ht, denom, mirrorY)
	x.Out, y.Out = width, height
	x.From, x.To = center(width, a.options.Width)
	y.From, y.To = center(height, a.options.Height)
	return x, y
}

// center is the middle of n, by torchvision's rounding: half to even.
func center(n, wanted int) (from, to int) {
	from = (n - wanted) / 2
	if (n-wanted)%2 == 1 && from%2 == 1 {
		from++
	}
	return from, from + wanted
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

// turn makes a decoded rectangle upright.
func (a *Augmenter) turn(p codec.Pixels, h codec.Header) resize.Source {
	o := upright(p.Rect, h, p.Denom)
	a.turned = slices.Grow(a.turned[:0], len(p.RGB))[:len(p.RGB)]
	// Where the first pixel goes, and how far the next ones to its right and below it are.
	at := func(x, y int) int {
		q := upright(image.Rect(x, y, x+1, y+1).Add(p.Rect.Min), h, p.Denom).Min.Sub(o.Min)
		return 3 * (q.Y*o.Dx() + q.X)
	}
	first := at(0, 0)
	right, down := at(1, 0)-first, at(0, 1)-first
	src := p.RGB
	for y := range p.Rect.Dy() {
		to := first + y*down
		for range p.Rect.Dx() {
			copy(a.turned[to:to+3], src)
			src, to = src[3:], to+right
		}
	}
	return resize.Source{RGB: a.turned, Rect: o}
}
