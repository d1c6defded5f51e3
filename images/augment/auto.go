package augment

import (
	"math"

	"github.com/shardfeed/shardfeed/internal/image/random"
)

// RandAugment takes NumOps operations at random (Cubuk et al., 2019): shear, translation, rotation,
// brightness, color, contrast, sharpness, posterization, solarization, autocontrast, equalization,
// identity.
type RandAugment struct {
	NumOps           int           `json:"num_ops,omitempty"`            // 0 means 2
	Magnitude        int           `json:"magnitude,omitempty"`          // of the operations, below NumMagnitudeBins; 0 means 9
	NumMagnitudeBins int           `json:"num_magnitude_bins,omitempty"` // 0 means 31
	Interpolation    Interpolation `json:"interpolation,omitempty"`
	Fill             [3]int        `json:"fill,omitzero"` // outside of the picture, 0 to 255
}

// AutoAugment takes one of 25 pairs of operations, found for ImageNet (Cubuk et al., 2018).
type AutoAugment struct {
	Policy        Policy        `json:"policy,omitempty"`
	Interpolation Interpolation `json:"interpolation,omitempty"`
	Fill          [3]int        `json:"fill,omitzero"`
}

// A Policy is the pairs of AutoAugment.
type Policy string

// ImageNet is the policy of ImageNet, and the default.
const ImageNet Policy = "imagenet"

// TrivialAugmentWide takes one operation with a random magnitude (Müller and Hutter, 2021).
type TrivialAugmentWide struct {
	NumMagnitudeBins int           `json:"num_magnitude_bins,omitempty"` // 0 means 31
	Interpolation    Interpolation `json:"interpolation,omitempty"`
	Fill             [3]int        `json:"fill,omitzero"`
}

// An Interpolation is how shears, translations and rotations sample.
type Interpolation string

// The interpolations. "" means Nearest.
const (
	Nearest  Interpolation = "nearest"
	Bilinear Interpolation = "bilinear"
)

const (
	mostOps  = 16
	mostBins = 1 << 10
)

func (s RandAugment) kind() kind        { return randAugment }
func (s AutoAugment) kind() kind        { return autoAugment }
func (s TrivialAugmentWide) kind() kind { return trivialAugmentWide }

func orCount(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func (s RandAugment) problems(_, _ int, add func(format string, args ...any)) {
	bins := orCount(s.NumMagnitudeBins, 31)
	if s.NumOps < 0 || s.NumOps > mostOps {
		add("{NumOps} must be from 1 to %d, got %d", mostOps, s.NumOps)
	}
	if m := orCount(s.Magnitude, 9); m < 0 || m >= bins && bins > 1 {
		add("{Magnitude} must be from 1 to {NumMagnitudeBins} - 1, %d, got %d", bins-1, m)
	}
	checkAuto(bins, s.Interpolation, s.Fill, add)
}

func (s AutoAugment) problems(_, _ int, add func(format string, args ...any)) {
	if s.Policy != "" && s.Policy != ImageNet {
		add("{Policy} must be imagenet, got %q", string(s.Policy))
	}
	checkAuto(10, s.Interpolation, s.Fill, add)
}

func (s TrivialAugmentWide) problems(_, _ int, add func(format string, args ...any)) {
	checkAuto(orCount(s.NumMagnitudeBins, 31), s.Interpolation, s.Fill, add)
}

func checkAuto(bins int, i Interpolation, fill [3]int, add func(format string, args ...any)) {
	if bins < 2 || bins > mostBins {
		add("{NumMagnitudeBins} must be from 2 to %d, got %d", mostBins, bins)
	}
	if i != "" && i != Nearest && i != Bilinear {
		add("{Interpolation} must be nearest or bilinear, got %q", string(i))
	}
	checkColor("Fill", fill, add)
}

func (s RandAugment) draw(ops []Op, width, height int, r random.Stream) []Op {
	for range orCount(s.NumOps, 2) {
		k := space[r.Below(len(space))]
		op := Op{Kind: k, Bilinear: s.Interpolation == Bilinear, Fill: s.Fill}
		if to, signed := narrow(k, width, height); k.hasMagnitude() {
			op.Value = magnitude(to, orCount(s.Magnitude, 9), orCount(s.NumMagnitudeBins, 31))
			op.sign(signed, &r)
		}
		ops = op.appendTo(ops)
	}
	return ops
}

func (s TrivialAugmentWide) draw(ops []Op, _, _ int, r random.Stream) []Op {
	k := space[r.Below(len(space))]
	op := Op{Kind: k, Bilinear: s.Interpolation == Bilinear, Fill: s.Fill}
	if to, signed := wide(k); k.hasMagnitude() {
		bins := orCount(s.NumMagnitudeBins, 31)
		op.Value = magnitude(to, r.Below(bins), bins)
		op.sign(signed, &r)
	}
	return op.appendTo(ops)
}

func (s AutoAugment) draw(ops []Op, width, height int, r random.Stream) []Op {
	for _, c := range imageNet[r.Below(len(imageNet))] {
		if !(r.Uniform(0, 1) <= c.p) {
			continue
		}
		op := Op{Kind: c.kind, Bilinear: s.Interpolation == Bilinear, Fill: s.Fill}
		if to, signed := narrow(c.kind, width, height); c.kind.hasMagnitude() {
			op.Value = magnitude(to, c.magnitude, 10)
			op.sign(signed, &r)
		}
		ops = op.appendTo(ops)
	}
	return ops
}

// space are the operations of RandAugment and TrivialAugmentWide, in torchvision's order.
var space = [...]Kind{
	Identity, ShearX, ShearY, TranslateX, TranslateY, Rotate, Brightness, Color, Contrast, Sharpness, Posterize, Solarize, AutoContrast, Equalize,
}

func (k Kind) hasMagnitude() bool { return k >= ShearX && k <= Solarize }

// A reach is how far the magnitudes of an operation go: from, to the last bin.
type reach struct{ from, to float64 }

// narrow returns the magnitudes of RandAugment and AutoAugment, and whether they have a sign.
func narrow(k Kind, width, height int) (to reach, signed bool) {
	switch k {
	case ShearX, ShearY:
		return reach{0, 0.3}, true
	case TranslateX:
		return reach{0, 150. / 331 * float64(width)}, true
	case TranslateY:
		return reach{0, 150. / 331 * float64(height)}, true
	case Rotate:
		return reach{0, 30}, true
	case Posterize:
		return reach{8, 4}, false
	case Solarize:
		return reach{1, 0}, false
	}
	return reach{0, 0.9}, true
}

// wide returns the magnitudes of TrivialAugmentWide.
func wide(k Kind) (to reach, signed bool) {
	switch k {
	case TranslateX, TranslateY:
		return reach{0, 32}, true
	case Rotate:
		return reach{0, 135}, true
	case Posterize:
		return reach{8, 2}, false
	case Solarize:
		return reach{1, 0}, false
	}
	return reach{0, 0.99}, true
}

// magnitude returns a bin's magnitude, as torch.linspace computes it in float32.
func magnitude(r reach, bin, bins int) float64 {
	from, to := float32(r.from), float32(r.to)
	step := (to - from) / float32(bins-1)
	if bin < bins/2 {
		return float64(from + float32(step*float32(bin)))
	}
	return float64(to - float32(step*float32(bins-1-bin)))
}

// sign draws whether a magnitude is negative.
func (op *Op) sign(signed bool, r *random.Stream) {
	if signed && r.Uniform(0, 1) <= 0.5 {
		op.Value = -op.Value
	}
}

// appendTo appends an operation whose value is a magnitude.
func (op Op) appendTo(ops []Op) []Op {
	switch op.Kind {
	case Identity:
		return ops
	case TranslateX, TranslateY:
		op.Value = math.Trunc(op.Value)
	case Brightness, Color, Contrast, Sharpness:
		op.Value++
	case Posterize:
		op.Value = math.RoundToEven(op.Value)
	case Solarize:
		op.Value *= 255
	}
	return append(ops, op)
}
