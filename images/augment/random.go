package augment

import (
	"image"
	"math"

	"github.com/shardfeed/shardfeed/internal/image/random"
)

// ColorJitter changes brightness, contrast, saturation and hue in random order. The ranges are of
// the factors: torchvision's brightness=0.4 is {0.6, 1.4}, its hue=0.1 is {-0.1, 0.1}. {0, 0} skips
// one.
type ColorJitter struct {
	Brightness Range   `json:"brightness,omitzero"`
	Contrast   Range   `json:"contrast,omitzero"`
	Saturation Range   `json:"saturation,omitzero"`
	Hue        Range   `json:"hue,omitzero"`
	P          float64 `json:"p,omitempty"` // the probability; 0 means 1
}

// GaussianBlur blurs with a Gaussian.
type GaussianBlur struct {
	KernelSize [2]int  `json:"kernel_size"`    // width and height in pixels, odd
	Sigma      Range   `json:"sigma,omitzero"` // the standard deviation in pixels; {0, 0} means {0.1, 2}
	P          float64 `json:"p,omitempty"`    // the probability; 0 means 1
}

// RandomGrayscale removes the colors.
type RandomGrayscale struct {
	P float64 `json:"p,omitempty"` // the probability; 0 means 0.1
}

// RandomSolarize inverts values from a threshold on.
type RandomSolarize struct {
	Threshold float64 `json:"threshold,omitempty"` // 0 to 255
	P         float64 `json:"p,omitempty"`         // the probability; 0 means 0.5
}

// RandomErasing fills a random rectangle with a color (Zhong et al., 2017).
type RandomErasing struct {
	P     float64 `json:"p,omitempty"`    // the probability; 0 means 0.5
	Scale Range   `json:"scale,omitzero"` // share of the area; {0, 0} means {0.02, 0.33}
	Ratio Range   `json:"ratio,omitzero"` // height by width; {0, 0} means {0.3, 3.3}
	Value [3]int  `json:"value,omitzero"` // the color, 0 to 255
}

const mostKernel = 255

func (s ColorJitter) kind() kind     { return colorJitter }
func (s GaussianBlur) kind() kind    { return gaussianBlur }
func (s RandomGrayscale) kind() kind { return randomGrayscale }
func (s RandomSolarize) kind() kind  { return randomSolarize }
func (s RandomErasing) kind() kind   { return randomErasing }

func (s ColorJitter) spans() [4][2]float64 {
	return [4][2]float64{s.Brightness, s.Contrast, s.Saturation, s.Hue}
}

func (s ColorJitter) problems(_, _ int, add func(format string, args ...any)) {
	if s.spans() == ([4][2]float64{}) {
		add("must change something, got no range")
	}
	for i, span := range s.spans() {
		least, most := 0.0, 100.0
		if i == 3 {
			least, most = -0.5, 0.5
		}
		if !Range(span).within(least, most) {
			add("{%s} must be two numbers from %v to %v, the smaller one first, got %v", [...]string{"Brightness", "Contrast", "Saturation", "Hue"}[i], least, most, span)
		}
	}
	checkP(s.P, add)
}

func (s ColorJitter) draw(ops []Op, _, _ int, r random.Stream) []Op {
	if r.Uniform(0, 1) >= orP(s.P, 1) {
		return ops
	}
	order, factor := r.Jitter(s.spans())
	return Jitter(ops, order, factor)
}

// Jitter appends the operations of an order and factors: 0 is brightness, 1 contrast, 2 saturation
// and 3 hue.
func Jitter(ops []Op, order [4]int, factor [4]float64) []Op {
	for _, i := range order {
		if f := factor[i]; i == 3 && f != 0 || i < 3 && f != 1 {
			ops = append(ops, Op{Kind: [...]Kind{Brightness, Contrast, Color, Hue}[i], Value: f})
		}
	}
	return ops
}

func (s GaussianBlur) problems(width, height int, add func(format string, args ...any)) {
	for i, side := range [...]int{width, height} {
		if k := s.KernelSize[i]; k < 1 || k%2 == 0 || k > mostKernel || k/2 >= side {
			add("{KernelSize} must be odd, from 1 to %d and less than twice the image's side %d, got %d", mostKernel, side, k)
			break
		}
	}
	if r := s.Sigma.orDefault(0.1, 2); !(r[0] > 0 && r.within(0, 1000)) {
		add("{Sigma} must be two numbers above 0 and at most 1000, the smaller one first, got %v", r)
	}
	checkP(s.P, add)
}

func (s GaussianBlur) draw(ops []Op, _, _ int, r random.Stream) []Op {
	if r.Uniform(0, 1) >= orP(s.P, 1) {
		return ops
	}
	sigma := s.Sigma.orDefault(0.1, 2)
	return append(ops, Op{Kind: Blur, Value: r.Uniform(sigma[0], sigma[1]), Kernel: s.KernelSize})
}

func (s RandomGrayscale) problems(_, _ int, add func(format string, args ...any)) { checkP(s.P, add) }

func (s RandomGrayscale) draw(ops []Op, _, _ int, r random.Stream) []Op {
	if r.Uniform(0, 1) >= orP(s.P, 0.1) {
		return ops
	}
	return append(ops, Op{Kind: Grayscale})
}

func (s RandomSolarize) problems(_, _ int, add func(format string, args ...any)) {
	if !(s.Threshold >= 0 && s.Threshold <= 255) {
		add("{Threshold} must be from 0 to 255, got %v", s.Threshold)
	}
	checkP(s.P, add)
}

func (s RandomSolarize) draw(ops []Op, _, _ int, r random.Stream) []Op {
	if r.Uniform(0, 1) >= orP(s.P, 0.5) {
		return ops
	}
	return append(ops, Op{Kind: Solarize, Value: s.Threshold})
}

func (s RandomErasing) problems(_, _ int, add func(format string, args ...any)) {
	if r := s.Scale.orDefault(0.02, 0.33); !(r[0] > 0 && r.within(0, 1)) {
		add("{Scale} must be two numbers above 0 and at most 1, the smaller one first, got %v", r)
	}
	if r := s.Ratio.orDefault(0.3, 3.3); !(r[0] > 0 && r.within(0, 1000)) {
		add("{Ratio} must be two numbers above 0 and at most 1000, the smaller one first, got %v", r)
	}
	checkColor("Value", s.Value, add)
	checkP(s.P, add)
}

// draw is RandomErasing.make_params of torchvision: ten tries, then nothing is erased.
func (s RandomErasing) draw(ops []Op, width, height int, r random.Stream) []Op {
	if r.Uniform(0, 1) >= orP(s.P, 0.5) {
		return ops
	}
	scale, ratio := s.Scale.orDefault(0.02, 0.33), s.Ratio.orDefault(0.3, 3.3)
	area := float64(width) * float64(height)
	low, high := math.Log(ratio[0]), math.Log(ratio[1])
	for range 10 {
		erased := area * r.Uniform(scale[0], scale[1])
		aspect := math.Exp(r.Uniform(low, high))
		h, w := int(math.RoundToEven(math.Sqrt(erased*aspect))), int(math.RoundToEven(math.Sqrt(erased/aspect)))
		if h >= height || w >= width {
			continue
		}
		top := r.Below(height - h + 1)
		left := r.Below(width - w + 1)
		return append(ops, Op{Kind: Erase, Rect: image.Rect(left, top, left+w, top+h), Fill: s.Value})
	}
	return ops
}
