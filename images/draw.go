package images

import (
	"image"
	"math"

	"github.com/shardfeed/shardfeed/internal/image/random"
)

// Params is the random part of an image.
type Params struct {
	Box    image.Rectangle // the part that is scaled, in the picture as a person sees it
	Size   image.Point     // to which the box is scaled
	At     image.Point     // where the scaled box starts in the result; what is outside is cut off
	Flip   bool
	Order  [4]int     // of the jitter's steps: 0 brightness, 1 contrast, 2 saturation, 3 hue
	Factor [4]float64 // of each step, at its number
}

// Streams of a seed.
const (
	streamCrop = iota + 1
	streamFlip
	streamJitter
)

// Draw draws the random part of the options for a picture of a size. It is a pure function.
func (o Options) Draw(width, height int, seed uint64) Params {
	o = o.withDefaults()
	p := Params{Box: image.Rect(0, 0, width, height)}
	switch o.Crop {
	case CropRandomResized:
		p.Box = o.randomResized(width, height, random.New(seed, streamCrop))
		p.Size = image.Pt(o.Width, o.Height)
	case CropScaleJitter:
		p.Size, p.At = o.scaleJitter(width, height, random.New(seed, streamCrop))
	default:
		p.Size = o.scaled(width, height)
		p.At = o.at(p.Size)
	}
	if o.Flip > 0 {
		r := random.New(seed, streamFlip)
		p.Flip = r.Uniform(0, 1) < o.Flip
	}
	if o.ColorJitter.on() {
		p.Order, p.Factor = random.New(seed, streamJitter).Jitter(o.ColorJitter.spans())
	}
	return p
}

// covers reports whether the scaled box covers a result of a size.
func (p *Params) covers(width, height int) bool {
	return p.At.X <= 0 && p.At.Y <= 0 && p.At.X+p.Size.X >= width && p.At.Y+p.Size.Y >= height
}

// randomResized is RandomResizedCrop.make_params of torchvision: ten tries, then the center.
func (o Options) randomResized(width, height int, r *random.Stream) image.Rectangle {
	area := float64(width) * float64(height)
	low, high := math.Log(o.Ratio[0]), math.Log(o.Ratio[1])
	for range 10 {
		target := area * r.Uniform(o.Scale[0], o.Scale[1])
		ratio := math.Exp(r.Uniform(low, high))
		w, h := math.RoundToEven(math.Sqrt(target*ratio)), math.RoundToEven(math.Sqrt(target/ratio))
		if w >= 1 && w <= float64(width) && h >= 1 && h <= float64(height) {
			top := r.Below(height - int(h) + 1)
			left := r.Below(width - int(w) + 1)
			return image.Rect(left, top, left+int(w), top+int(h))
		}
	}
	w, h := width, height
	if ratio := float64(width) / float64(height); ratio < o.Ratio[0] {
		h = int(math.RoundToEven(float64(w) / o.Ratio[0]))
	} else if ratio > o.Ratio[1] {
		w = int(math.RoundToEven(float64(h) * o.Ratio[1]))
	}
	w, h = max(1, min(w, width)), max(1, min(h, height))
	left, top := (width-w)/2, (height-h)/2
	return image.Rect(left, top, left+w, top+h)
}

// scaleJitter is ScaleJitter.make_params of torchvision, and FixedSizeCrop of its references: the
// picture is scaled to fit, times a factor. A part as large as the result is taken at random; a
// smaller picture is in the upper left corner.
func (o Options) scaleJitter(width, height int, r *random.Stream) (size, at image.Point) {
	factor := min(float64(o.Height)/float64(height), float64(o.Width)/float64(width)) * r.Uniform(o.Scale[0], o.Scale[1])
	size = image.Pt(max(1, int(float64(width)*factor)), max(1, int(float64(height)*factor)))
	part := r.Uniform(0, 1)
	return size, image.Pt(-int(float64(max(0, size.X-o.Width))*part), -int(float64(max(0, size.Y-o.Height))*part))
}
