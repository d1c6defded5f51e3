package images

import (
	"image"
	"math"
	"slices"

	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// View returns the box of the upright picture, of a size, that all of the result shows: x0, y0, x1
// and y1. Pixel (x, y) of a result of w x h pixels is at x0 + x*(x1-x0)/w and y0 + y*(y1-y0)/h of
// the picture. A flip exchanges x0 and x1, and a view of a letterbox or of a picture that is scaled
// to less than the result reaches out of the picture.
func (o Options) View(size image.Point, seed uint64) [4]float64 {
	o = o.withDefaults()
	p := o.Draw(size.X, size.Y, seed)
	x, y := float64(p.Box.Dx())/float64(p.Size.X), float64(p.Box.Dy())/float64(p.Size.Y)
	x0, y0 := float64(p.Box.Min.X)-float64(p.At.X)*x, float64(p.Box.Min.Y)-float64(p.At.Y)*y
	x1, y1 := x0+float64(o.Width)*x, y0+float64(o.Height)*y
	if p.Flip {
		x0, x1 = x1, x0
	}
	return [4]float64{x0, y0, x1, y1}
}

// Result returns the size of the result.
func (o Options) Result() (width, height int) {
	o = o.withDefaults()
	return o.Width, o.Height
}

// scaled returns the size to scale a picture to. A center crop then takes a part of it.
func (o *Options) scaled(w, h int) image.Point {
	switch {
	case o.Crop == CropLetterbox:
		r := min(float64(o.Height)/float64(h), float64(o.Width)/float64(w))
		fit := func(n, most int) int { return max(1, min(most, int(math.RoundToEven(float64(n)*r)))) }
		return image.Pt(fit(w, o.Width), fit(h, o.Height))
	case o.Crop != CropCenter:
		return image.Pt(o.Width, o.Height)
	case w <= h:
		return image.Pt(o.Resize, max(1, o.Resize*h/w))
	}
	return image.Pt(max(1, o.Resize*w/h), o.Resize)
}

// at returns where the scaled picture starts in the result: below 0 if a center crop cuts it off.
func (o *Options) at(size image.Point) image.Point {
	if o.Crop == CropLetterbox {
		middle := func(n int) int { return int(math.Round(float64(n)/2 - 0.1)) } // as ultralytics
		return image.Pt(middle(o.Width-size.X), middle(o.Height-size.Y))
	}
	return image.Pt(-center(size.X, o.Width), -center(size.Y, o.Height))
}

// center is the start of the middle of n, by torchvision's rounding: half to even.
func center(n, wanted int) (from int) {
	from = (n - wanted) / 2
	if (n-wanted)%2 == 1 && from%2 == 1 {
		from++
	}
	return from
}

// A frame puts a picture into a result that is larger.
type frame struct {
	line, plain resize.Row // a row of the result, and one without the picture
	color       uint64     // of plain
	left        int        // where the picture starts
	first       int        // row of the picture
	next        int        // row of the result that is not written yet
	height      int
	writer      writer
}

// around starts a result with a color around the picture, and returns where the rows of the
// picture go.
func (f *frame) around(o *Options, p *Params, w writer, color uint64) func(i int, row resize.Row) {
	f.left, f.first = max(0, p.At.X), max(0, p.At.Y)
	f.writer, f.next, f.height = w, 0, o.Height
	if f.plain == nil || f.color != color {
		f.line, f.plain, f.color = o.plain(color), o.plain(color), color
	} else {
		copy(f.line, f.plain)
	}
	f.until(f.first)
	return f.row
}

// plain returns a row of the result of one pixel.
func (o *Options) plain(pixel uint64) resize.Row {
	return slices.Repeat(resize.Row{pixel}, o.Width)
}

func (f *frame) row(i int, row resize.Row) {
	copy(f.line[f.left:], row)
	f.writer.row(f.first+i, f.line)
	f.next = f.first + i + 1
}

// until writes rows without the picture.
func (f *frame) until(end int) {
	for ; f.next < end; f.next++ {
		f.writer.row(f.next, f.plain)
	}
}

// end writes the rows below the picture.
func (f *frame) end() { f.until(f.height) }
