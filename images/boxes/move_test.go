package boxes

import (
	"encoding/json"
	"image"
	"math"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// Boxes and points of all formats are where torchvision's v2 functions move them as tv_tensors,
// clamped and not, and the ones that stay are the same.
func TestMoveIsTorchvisions(t *testing.T) {
	var all struct {
		Given map[Format][][]float32
		Cases []map[string]json.RawMessage
	}
	if err := json.Unmarshal(imagetest.Pairs(t)["cases.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 22 || len(all.Given) != 4 {
		t.Fatalf("%d cases of %d formats", len(all.Cases), len(all.Given))
	}
	for i, c := range all.Cases {
		read := func(key string, to any) {
			if err := json.Unmarshal(c[key], to); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		var seed uint64
		var of images.Options
		var kept []bool
		read("seed", &seed)
		read("options", &of)
		read("kept", &kept)
		v := &View{Part: of.View(image.Pt(67, 45), seed), Width: of.Width, Height: of.Height}
		for format, given := range all.Given {
			for _, clip := range []bool{false, true} {
				var want [][]float64
				o, key := Options{Format: format, Unclipped: !clip}, string(format)
				switch {
				case clip:
					key += "_clipped"
				case !format.point():
					continue // torchvision's crop clamps boxes
				}
				if read(key, &want); !format.point() {
					o.MinSize = 3
				}
				for k, n := range given {
					n := slices.Clone(n)
					if stays := o.Move(n, v); stays != kept[k] && !format.point() {
						t.Errorf("case %d, %s %d stays: %v", i, key, k, stays)
					}
					for at := range n {
						if math.Abs(float64(n[at])-want[k][at]) > 1e-3 {
							t.Fatalf("case %d, %s %d is %v, torchvision has %v", i, key, k, n, want[k])
						}
					}
				}
			}
		}
	}
}

// Unclipped boxes have their parts outside, and stay by their parts inside.
func TestUnclipped(t *testing.T) {
	v := &View{Part: [4]float64{10, 0, 20, 10}, Width: 100, Height: 100}
	for _, c := range []struct {
		format      Format
		given, want []float32
		stays       bool
	}{
		{XYXY, []float32{5, 3, 15, 4}, []float32{-50, 30, 50, 40}, true},
		{XYWH, []float32{5, 3, 10, 1}, []float32{-50, 30, 100, 10}, true},
		{CXCYWH, []float32{10, 3, 10, 1}, []float32{0, 30, 100, 10}, true},
		{XYXY, []float32{5, 3, 10.05, 4}, []float32{-50, 30, 0.5, 40}, false},
		{XYXY, []float32{25, 3, 30, 4}, []float32{150, 30, 200, 40}, false},
	} {
		o, n := Options{Format: c.format, Unclipped: true}, slices.Clone(c.given)
		stays := o.Move(n, v)
		for i := range n {
			if math.Abs(float64(n[i]-c.want[i])) > 1e-4 || stays != c.stays {
				t.Errorf("%s %v is %v, %v, want %v, %v", c.format, c.given, n, stays, c.want, c.stays)
			}
		}
	}
}

// Points outside are not visible, and invisible points have no place.
func TestVisibility(t *testing.T) {
	v := &View{Part: [4]float64{20, 0, 10, 10}, Width: 100, Height: 100} // flipped
	for _, c := range []struct {
		given, want []float32
		keep, stays bool
	}{
		{[]float32{12, 3, 2}, []float32{79, 30, 2}, false, true},
		{[]float32{12, 3, 0}, []float32{0, 0, 0}, false, false},
		{[]float32{9, 3, 2}, []float32{0, 0, 0}, false, false},
		{[]float32{9, 3, 1}, []float32{0, 0, 0}, true, true},
		{[]float32{9, 3}, []float32{99, 30}, true, true},
	} {
		o := Options{Format: []Format{XY, XYV}[len(c.given)-2], KeepAll: c.keep}
		if stays := o.Move(c.given, v); stays != c.stays || !slices.Equal(c.given, c.want) {
			t.Errorf("got %v, %v, want %v, %v", c.given, stays, c.want, c.stays)
		}
	}
}
