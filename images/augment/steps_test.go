package augment

import (
	"encoding/json"
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Steps choose the operations that torchvision's transforms choose with the same random numbers.
func TestDrawsAreTorchvisions(t *testing.T) {
	var all struct {
		Width, Height int
		Draws         []struct {
			Step Steps
			Seed uint64
			Ops  []struct {
				Kind  string
				Value float64
				Rect  [4]int
				Fill  [3]int
			}
		}
	}
	if err := json.Unmarshal(imagetest.Augments(t)["draws.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Draws) < 200 {
		t.Errorf("there are %d draws", len(all.Draws))
	}
	seen := map[Kind]bool{}
	for _, want := range all.Draws {
		t.Run(fmt.Sprintf("%+v %d", want.Step[0], want.Seed), func(t *testing.T) {
			got := want.Step.Draw(nil, all.Width, all.Height, want.Seed)
			if len(got) != len(want.Ops) {
				t.Fatalf("%d operations, want %d", len(got), len(want.Ops))
			}
			for i, op := range got {
				seen[op.Kind] = true
				w := want.Ops[i]
				r := image.Rect(w.Rect[0], w.Rect[1], w.Rect[2], w.Rect[3])
				if op.Kind.String() != w.Kind || math.Abs(op.Value-w.Value) > 1e-6*math.Abs(w.Value) || op.Rect != r || op.Fill != w.Fill {
					t.Errorf("operation %d is %+v, want %+v", i, op, w)
				}
			}
		})
	}
	for k := ShearX; k <= Invert; k++ {
		if !seen[k] && k != Hue {
			t.Errorf("nothing draws %v", k)
		}
	}
}

// every is a step of each kind.
var every = Steps{
	RandAugment{NumOps: 3, Magnitude: 7, NumMagnitudeBins: 11, Interpolation: Bilinear, Fill: [3]int{1, 2, 3}},
	AutoAugment{Policy: ImageNet, Interpolation: Nearest, Fill: [3]int{4, 5, 6}},
	TrivialAugmentWide{NumMagnitudeBins: 21},
	ColorJitter{Brightness: Range{0.5, 1.5}, Hue: Range{-0.1, 0.1}, P: 0.8},
	GaussianBlur{KernelSize: [2]int{5, 7}, Sigma: Range{0.5, 1}, P: 0.5},
	RandomGrayscale{P: 0.2},
	RandomSolarize{Threshold: 128, P: 0.4},
	RandomErasing{P: 0.3, Scale: Range{0.1, 0.2}, Ratio: Range{0.5, 2}, Value: [3]int{7, 8, 9}},
}

// A step's draws do not depend on the steps around it: without another one, and in another place,
// it draws the same.
func TestStepsAreIndependent(t *testing.T) {
	for seed := range uint64(50) {
		all := map[int][]Op{}
		for i, step := range every {
			all[i] = (&Steps{step}).Draw(nil, 40, 30, seed)
		}
		var want, backwards []Op
		for i := range every {
			want = append(want, all[i]...)
			backwards = append(backwards, all[Most-1-i]...)
		}
		if got := every.Draw(nil, 40, 30, seed); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		turned := every
		slices.Reverse(turned[:])
		if got := turned.Draw(nil, 40, 30, seed); !slices.Equal(got, backwards) {
			t.Fatalf("seed %d: backwards %v, want %v", seed, got, backwards)
		}
	}
	twice := Steps{RandomErasing{P: 1}, RandomErasing{P: 1}}
	if got := twice.Draw(nil, 40, 30, 1); len(got) != 2 || got[0] == got[1] {
		t.Errorf("two steps of one kind draw %v", got)
	}
}

// Steps are taken as often as their probability says.
func TestProbabilities(t *testing.T) {
	for want, step := range map[float64]Step{
		1:    GaussianBlur{KernelSize: [2]int{3, 3}},
		0.1:  RandomGrayscale{},
		0.5:  RandomSolarize{},
		0.75: RandomErasing{P: 0.75},
		0.25: ColorJitter{Brightness: Range{2, 2}, P: 0.25},
	} {
		n := 0
		for seed := range uint64(4000) {
			n += len((&Steps{step}).Draw(nil, 100, 100, seed))
		}
		if got := float64(n) / 4000; math.Abs(got-want) > 0.03 {
			t.Errorf("%T is taken %.3f of the times, want %v", step, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	for name, steps := range map[string]Steps{
		"every": every, "none": {}, "defaults": {RandAugment{}, AutoAugment{}, TrivialAugmentWide{}, RandomGrayscale{}, RandomSolarize{}, RandomErasing{}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(steps)
			if err != nil {
				t.Fatal(err)
			}
			var got Steps
			if err := json.Unmarshal(text, &got); err != nil || got != steps {
				t.Errorf("%+v of %s, want %+v, %v", got, text, steps, err)
			}
		})
	}
}

func TestJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[{"step": "rand_augment", "ops": 1}]`: `augment[0]: json: unknown field "ops"`,
		`[{}]`:                                 `augment[0]: there is no step ""; there are rand_augment, auto_augment,`,
		`[{"step": "blur"}]`:                   `there is no step "blur"`,
		`[{"step": 3}]`:                        "the step of augment[0]",
		`[` + strings.Repeat(`{"step": "rand_augment"},`, 8) + `{"step": "rand_augment"}]`: "augment must have at most 8 steps, got 9",
		`{}`: "cannot unmarshal object",
	} {
		t.Run(text, func(t *testing.T) {
			var s Steps
			if err := json.Unmarshal([]byte(text), &s); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for want, steps := range map[string]Steps{
		"":       every,
		"0 none": {nil, RandomGrayscale{}},
		"Augment[0] rand_augment: {NumOps} must be from 1 to 16, got 17":                                                      {RandAugment{NumOps: 17}},
		"Augment[0] rand_augment: {Magnitude} must be from 1 to {NumMagnitudeBins} - 1, 30, got 31":                           {RandAugment{Magnitude: 31}},
		"Augment[0] rand_augment: {NumMagnitudeBins} must be from 2 to 1024, got 1":                                           {RandAugment{Magnitude: 0, NumMagnitudeBins: 1}},
		`Augment[0] auto_augment: {Policy} must be imagenet, got "cifar10"`:                                                   {AutoAugment{Policy: "cifar10"}},
		`Augment[0] auto_augment: {Interpolation} must be nearest or bilinear, got "bicubic"`:                                 {AutoAugment{Interpolation: "bicubic"}},
		"Augment[0] trivial_augment_wide: {Fill} must be from 0 to 255, got [0 0 256]":                                        {TrivialAugmentWide{Fill: [3]int{0, 0, 256}}},
		"Augment[0] color_jitter: must change something, got no range":                                                        {ColorJitter{}},
		"Augment[0] color_jitter: {Hue} must be two numbers from -0.5 to 0.5, the smaller one first, got [0 0.6]":             {ColorJitter{Hue: Range{0, 0.6}}},
		"Augment[0] gaussian_blur: {KernelSize} must be odd, from 1 to 255 and less than twice the image's side 30, got 61":   {GaussianBlur{KernelSize: [2]int{3, 61}}},
		"Augment[0] gaussian_blur: {Sigma} must be two numbers above 0 and at most 1000, the smaller one first, got [2 1]":    {GaussianBlur{KernelSize: [2]int{3, 3}, Sigma: Range{2, 1}}},
		"Augment[1] random_grayscale: {P} must be above 0 and at most 1, got 1.5":                                             {RandAugment{}, RandomGrayscale{P: 1.5}},
		"Augment[0] random_solarize: {Threshold} must be from 0 to 255, got 256":                                              {RandomSolarize{Threshold: 256}},
		"Augment[0] random_erasing: {Scale} must be two numbers above 0 and at most 1, the smaller one first, got [0 1]":      {RandomErasing{Scale: Range{0, 1}}},
		"Augment[0] random_erasing: {Ratio} must be two numbers above 0 and at most 1000, the smaller one first, got [1 0.5]": {RandomErasing{Ratio: Range{1, 0.5}}},
		"Augment[0] random_erasing: {Value} must be from 0 to 255, got [-1 0 0]":                                              {RandomErasing{Value: [3]int{-1, 0, 0}}},
	} {
		t.Run(want, func(t *testing.T) {
			var got []string
			steps.Check(40, 30, func(field, format string, args ...any) { got = append(got, field+" "+fmt.Sprintf(format, args...)) })
			if want == "0 none" {
				want = "Augment[1] must follow the other steps, got nil before it"
			}
			if strings.Join(got, "\n") != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestMoves(t *testing.T) {
	for i, step := range every {
		if got := (&Steps{RandomGrayscale{}, step}).Moves(); got != (i < 3) {
			t.Errorf("%T moves: %v", step, got)
		}
	}
	if (&Steps{}).Moves() || (&Steps{}).On() || !every.On() {
		t.Error("no steps are steps")
	}
}
