package images

import (
	"encoding/json"
	"fmt"
	"image"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Draws are those of torchvision's code, run in Python with the numbers of the same streams.
func TestDrawGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Width, Height int
		Scale, Ratio  Range
		Seed          string
		Flip          bool
		Order         [4]int
		Factor        [4]float64
		Box           [4]int
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("there are %d draws", len(all))
	}
	for _, want := range all {
		t.Run(fmt.Sprintf("%dx%d %v %v", want.Width, want.Height, want.Scale, want.Seed), func(t *testing.T) {
			seed, err := strconv.ParseUint(want.Seed, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{
				Crop: CropRandomResized, Scale: want.Scale, Ratio: want.Ratio, Flip: 0.5,
				ColorJitter: Jitter{Brightness: Range{0.6, 1.4}, Contrast: Range{0.6, 1.4}, Saturation: Range{0.6, 1.4}, Hue: Range{-0.1, 0.1}},
			}
			got := o.Draw(want.Width, want.Height, seed)
			b := want.Box
			if box := image.Rect(b[0], b[1], b[0]+b[2], b[1]+b[3]); got.Box != box || got.Flip != want.Flip || got.Order != want.Order {
				t.Errorf("got %+v, want %v, %+v", got, box, want)
			}
			for i, f := range got.Factor {
				if math.Abs(f-want.Factor[i]) > 1e-15 {
					t.Errorf("factor %d is %v, want %v", i, f, want.Factor[i])
				}
			}
		})
	}
}

// Steps draw from streams of their own.
func TestDrawsAreIndependent(t *testing.T) {
	crop := Options{Crop: CropRandomResized}
	more := crop
	more.Flip, more.ColorJitter = 0.5, Jitter{Hue: Range{-0.1, 0.1}}
	less := more
	less.ColorJitter = Jitter{}
	flips := 0
	for seed := range uint64(2000) {
		if a, b := crop.Draw(500, 375, seed), more.Draw(500, 375, seed); a.Box != b.Box {
			t.Fatalf("seed %d: the crop is %v with a flip and a jitter, %v without", seed, b.Box, a.Box)
		}
		a, b := more.Draw(500, 375, seed), less.Draw(500, 375, seed)
		if a.Flip != b.Flip {
			t.Fatalf("seed %d: the flip depends on the jitter", seed)
		}
		if a.Flip {
			flips++
		}
	}
	if flips < 900 || flips > 1100 {
		t.Errorf("%d of 2000 are flipped at 0.5", flips)
	}
}

// The crop's area and ratio are spread as RandomResizedCrop spreads them, inside the picture.
func TestCropDistribution(t *testing.T) {
	o := Options{Crop: CropRandomResized}
	const n = 20_000
	area, wide := 0.0, 0
	for seed := range uint64(n) {
		b := o.Draw(1000, 1000, seed).Box
		if !b.In(image.Rect(0, 0, 1000, 1000)) || b.Empty() {
			t.Fatalf("seed %d: the box is %v", seed, b)
		}
		area += float64(b.Dx()*b.Dy()) / 1e6
		if b.Dx() > b.Dy() {
			wide++
		}
	}
	// torchvision's mean is about 0.475: large crops that are not square do not fit and are drawn
	// again.
	if area /= n; area < 0.47 || area > 0.486 {
		t.Errorf("the mean area is %.3f", area)
	}
	if share := float64(wide) / n; share < 0.47 || share > 0.53 {
		t.Errorf("%.3f of the crops are wider than high", share)
	}
}
