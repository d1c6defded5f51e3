package images

import (
	"image"
	"math"
	"math/bits"
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
		p.Box = o.randomResized(width, height, newStream(seed, streamCrop))
		p.Size = image.Pt(o.Width, o.Height)
	case CropScaleJitter:
		p.Size, p.At = o.scaleJitter(width, height, newStream(seed, streamCrop))
	default:
		p.Size = o.scaled(width, height)
		p.At = o.at(p.Size)
	}
	if o.Flip > 0 {
		r := newStream(seed, streamFlip)
		p.Flip = r.uniform(0, 1) < o.Flip
	}
	if o.ColorJitter.on() {
		p.Order, p.Factor = o.ColorJitter.draw(newStream(seed, streamJitter))
	}
	return p
}

// covers reports whether the scaled box covers a result of a size.
func (p *Params) covers(width, height int) bool {
	return p.At.X <= 0 && p.At.Y <= 0 && p.At.X+p.Size.X >= width && p.At.Y+p.Size.Y >= height
}

// randomResized is RandomResizedCrop.make_params of torchvision: ten tries, then the center.
func (o Options) randomResized(width, height int, r *stream) image.Rectangle {
	area := float64(width) * float64(height)
	low, high := math.Log(o.Ratio[0]), math.Log(o.Ratio[1])
	for range 10 {
		target := area * r.uniform(o.Scale[0], o.Scale[1])
		ratio := math.Exp(r.uniform(low, high))
		w, h := math.RoundToEven(math.Sqrt(target*ratio)), math.RoundToEven(math.Sqrt(target/ratio))
		if w >= 1 && w <= float64(width) && h >= 1 && h <= float64(height) {
			top := r.below(height - int(h) + 1)
			left := r.below(width - int(w) + 1)
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
func (o Options) scaleJitter(width, height int, r *stream) (size, at image.Point) {
	factor := min(float64(o.Height)/float64(height), float64(o.Width)/float64(width)) * r.uniform(o.Scale[0], o.Scale[1])
	size = image.Pt(max(1, int(float64(width)*factor)), max(1, int(float64(height)*factor)))
	part := r.uniform(0, 1)
	return size, image.Pt(-int(float64(max(0, size.X-o.Width))*part), -int(float64(max(0, size.Y-o.Height))*part))
}

// draw is ColorJitter.make_params: the order first, by Fisher and Yates from the end.
func (j Jitter) draw(r *stream) (order [4]int, factor [4]float64) {
	order = [4]int{0, 1, 2, 3}
	for i := 3; i > 0; i-- {
		k := r.below(i + 1)
		order[i], order[k] = order[k], order[i]
	}
	for i, span := range []Range{j.Brightness, j.Contrast, j.Saturation, j.Hue} {
		u := r.uniform(span[0], span[1]) // drawn even if unused, so that the steps stay independent
		switch {
		case span != Range{}:
			factor[i] = u
		case i < 3:
			factor[i] = 1
		}
	}
	return order, factor
}

// A stream is SplitMix64.
type stream struct{ state uint64 }

func newStream(seed, number uint64) *stream { return &stream{mix(seed + number)} }

func (s *stream) next() uint64 {
	v := mix(s.state)
	s.state += golden
	return v
}

func (s *stream) uniform(from, to float64) float64 {
	return from + float64((to-from)*(float64(s.next()>>11)/(1<<53))) // the conversion keeps it from being fused
}

func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

const golden = 0x9e3779b97f4a7c15

func mix(s uint64) uint64 {
	s += golden
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}
