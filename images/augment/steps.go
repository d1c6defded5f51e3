package augment

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/image/random"
)

// Most is the number of steps that an image can have.
const Most = 8

// Steps are the steps of an image, in order. The unused places at the end are nil. Steps are
// comparable, as all steps are.
type Steps [Most]Step

// A Step is a random change of an image: one of the types of this package whose name torchvision
// has.
type Step interface {
	// draw appends what is done to an image of a size.
	draw(ops []Op, width, height int, r random.Stream) []Op

	// problems calls add for each invalid field. Texts name fields as {Field}.
	problems(width, height int, add func(format string, args ...any))

	// kind is the place in the list of kinds.
	kind() kind
}

// A kind is a type of steps. The values number streams, so they are frozen.
type kind uint64

const (
	randAugment kind = iota + 1
	autoAugment
	trivialAugmentWide
	colorJitter
	gaussianBlur
	randomGrayscale
	randomSolarize
	randomErasing
)

// names are the kinds' names in JSON.
var names = [...]string{
	randAugment: "rand_augment", autoAugment: "auto_augment", trivialAugmentWide: "trivial_augment_wide", colorJitter: "color_jitter",
	gaussianBlur: "gaussian_blur", randomGrayscale: "random_grayscale", randomSolarize: "random_solarize", randomErasing: "random_erasing",
}

// Draw appends what the steps do to an image of a size with a seed. It is a pure function.
func (s *Steps) Draw(ops []Op, width, height int, seed uint64) []Op {
	var seen [len(names)]uint64
	for _, step := range s {
		if step == nil {
			break
		}
		k := step.kind()
		ops = step.draw(ops, width, height, *random.New(seed, 256*uint64(k)+seen[k]))
		seen[k]++
	}
	return ops
}

// On reports whether there are steps.
func (s *Steps) On() bool { return *s != Steps{} }

// Moves reports whether steps may move pixels, so that masks and boxes would not fit any more.
func (s *Steps) Moves() bool {
	for _, step := range s {
		if step == nil {
			return false
		}
		if step.kind() <= trivialAugmentWide {
			return true
		}
	}
	return false
}

// Check calls add for each problem of the steps of an image of a size, with the field's name and a
// text that follows it.
func (s *Steps) Check(width, height int, add func(field, format string, args ...any)) {
	end := false
	for i, step := range s {
		field := fmt.Sprintf("Augment[%d]", i)
		switch {
		case step == nil:
			end = true
		case end:
			add(field, "must follow the other steps, got nil before it")
		default:
			step.problems(width, height, func(format string, args ...any) { add(field, names[step.kind()]+": "+format, args...) })
		}
	}
}

// A Range is the interval from which a number is drawn.
type Range [2]float64

// orDefault returns the range, or a default for {0, 0}.
func (r Range) orDefault(low, high float64) Range {
	if r == (Range{}) {
		return Range{low, high}
	}
	return r
}

// within reports whether the range is ordered and between two numbers.
func (r Range) within(least, most float64) bool { return r[0] >= least && r[0] <= r[1] && r[1] <= most }

// orP returns the probability, or a default for 0.
func orP(p, otherwise float64) float64 {
	if p == 0 {
		return otherwise
	}
	return p
}

func checkP(p float64, add func(format string, args ...any)) {
	if !(p >= 0 && p <= 1) {
		add("{P} must be above 0 and at most 1, got %v", p)
	}
}

func checkColor(name string, c [3]int, add func(format string, args ...any)) {
	if min(c[0], c[1], c[2]) < 0 || max(c[0], c[1], c[2]) > 255 {
		add("{%s} must be from 0 to 255, got %v", name, c)
	}
}
