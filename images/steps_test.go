package images

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/image/paint"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

var someSteps = augment.Steps{
	augment.RandAugment{NumOps: 3, Magnitude: 20, Fill: [3]int{9, 99, 199}},
	augment.GaussianBlur{KernelSize: [2]int{5, 3}, P: 0.5},
	augment.RandomErasing{P: 0.7, Value: [3]int{1, 2, 3}},
}

// The steps change the image that the other options make, after its flip and with its frame, and
// before it is normalised.
func TestStepsFollowTheRest(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for name, o := range map[string]Options{
		"crop":      {Height: 24, Width: 30, Crop: CropRandomResized, Flip: 0.5, ColorJitter: Jitter{Contrast: Range{0.5, 1.5}}},
		"letterbox": {Height: 40, Width: 24, Crop: CropLetterbox, Fill: [3]int{114, 115, 116}, Flip: 0.5},
		"nearest":   {Height: 24, Interpolation: NearestExact},
	} {
		for _, dtype := range []DType{Uint8, Float32} {
			for _, layout := range []Layout{HWC, CHW} {
				t.Run(name+" "+string(dtype)+" "+string(layout), func(t *testing.T) {
					plain := o
					plain.Layout = HWC
					o := o
					o.Augment, o.DType, o.Layout = someSteps, dtype, layout
					a, before := newAugmenter(t, o, new(codec.Go)), newAugmenter(t, plain, new(codec.Go))
					for seed := range uint64(20) {
						want := changed(t, o, apply(t, before, corpus["photo.png"], seed), seed)
						if got := apply(t, a, corpus["photo.png"], seed); !bytes.Equal(got, want) {
							t.Fatalf("seed %d differs", seed)
						}
					}
				})
			}
		}
	}
}

// changed takes the steps of the options on an HWC image of bytes, and writes it.
func changed(t *testing.T, o Options, image []byte, seed uint64) []byte {
	t.Helper()
	o = o.withDefaults()
	var c paint.Canvas
	for ; len(image) > 0; image = image[3*o.Width:] {
		var row resize.Row
		for x := range o.Width {
			row = append(row, resize.Pack(image[3*x], image[3*x+1], image[3*x+2]))
		}
		c.Append(row)
	}
	c.Apply(o.Augment.Draw(nil, o.Width, o.Height, seed))
	dst := make([]byte, o.Bytes())
	w := newWriter(o, 8)
	if err := w.to(dst, false); err != nil {
		t.Fatal(err)
	}
	for y := range c.Rows() {
		w.row(y, c.Row(y))
	}
	return dst
}

// An augmenter with steps allocates nothing for an image but what the decoder does.
func TestStepsDoNotAllocate(t *testing.T) {
	file := imagetest.Corpus(t)["photo.png"]
	count := func(o Options) float64 {
		a := newAugmenter(t, o, new(codec.Go))
		dst := make([]byte, o.Bytes())
		seed := uint64(0)
		one := func() {
			seed++
			if err := a.Apply(dst, file, seed%16); err != nil {
				t.Fatal(err)
			}
		}
		for range 16 {
			one()
		}
		return testing.AllocsPerRun(32, one)
	}
	if with, without := count(Options{Height: 32, Augment: someSteps}), count(Options{Height: 32}); with > without+0.5 {
		t.Errorf("%v allocations an image, %v without steps", with, without)
	}
}

// Columns that share a draw cannot follow what moves pixels.
func TestStepsAndPairs(t *testing.T) {
	moves, stays := augment.Steps{augment.RandAugment{}}, augment.Steps{augment.RandomGrayscale{}}
	if err := (Options{Augment: stays}).CanLead(); err != nil {
		t.Error(err)
	}
	if err := (Options{Augment: moves}).CanLead(); err == nil || !strings.Contains(err.Error(), "which other columns and boxes cannot follow") {
		t.Error(err)
	}
	for want, o := range map[string]Options{
		"":                                    {Like: "image", Augment: stays},
		`and column "image", whose draw it`:   {Like: "image", Augment: moves},
		"so that Geometry would not fit":      {Geometry: true, Augment: moves},
		"Augment needs Channels 3":            {Channels: 1, Augment: stays},
		"NumOps must be from 1 to 16, got -1": {Augment: augment.Steps{augment.RandAugment{NumOps: -1}}},
		"the image's side 224, got 449":       {Augment: augment.Steps{augment.GaussianBlur{KernelSize: [2]int{449, 3}}}},
	} {
		err := o.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
