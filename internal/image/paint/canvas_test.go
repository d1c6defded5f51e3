package paint

import (
	"encoding/json"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/image/resize"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// canvasOf is the pixels of a PNG.
func canvasOf(t testing.TB, file []byte) *Canvas {
	t.Helper()
	pixels, r := imagetest.RGB(t, file)
	c := &Canvas{Width: r.Dx()}
	for i := 0; i < len(pixels); i += 3 {
		c.Pixels = append(c.Pixels, resize.Pack(pixels[i], pixels[i+1], pixels[i+2]))
	}
	return c
}

// bytesOf is the pixels of a canvas, 3 bytes each.
func bytesOf(c *Canvas) (all []byte) {
	for _, p := range c.Pixels {
		r, g, b := resize.Unpack(p)
		all = append(all, r, g, b)
	}
	return all
}

// An opCase is an operation as images/testdata/augments.py writes it.
type opCase struct {
	Kind     string
	Value    float64
	Bilinear bool
	Fill     [3]int
	Kernel   [2]int
	Rect     [4]int
}

func (c opCase) op(t *testing.T) augment.Op {
	t.Helper()
	for k := augment.Identity; k <= augment.Erase; k++ {
		if k.String() == c.Kind {
			r := c.Rect
			return augment.Op{Kind: k, Value: c.Value, Bilinear: c.Bilinear, Fill: c.Fill, Kernel: c.Kernel, Rect: image.Rect(r[0], r[1], r[2], r[3])}
		}
	}
	t.Fatalf("there is no operation %q", c.Kind)
	return augment.Op{}
}

// Operations are torchvision's functions on uint8 tensors: exactly where integers or the nearest
// pixels are the result, and within 1 of 255 where it is a mean.
func TestOperationsAreTorchvisions(t *testing.T) {
	files := imagetest.Augments(t)
	var cases []opCase
	if err := json.Unmarshal(files["cases.json"], &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 90 {
		t.Errorf("there are %d cases", len(cases))
	}
	seen := map[string]bool{}
	for i, c := range cases {
		seen[c.Kind] = true
		t.Run(fmt.Sprint(i, " ", c), func(t *testing.T) {
			canvas := canvasOf(t, files["picture.png"])
			canvas.Apply([]augment.Op{c.op(t)})
			want, _ := imagetest.RGB(t, files[fmt.Sprintf("%d.png", i)])
			bound := 0
			if c.Bilinear || c.Kind == "Blur" || c.Kind == "Hue" {
				bound = 1
			}
			if most, share := imagetest.Differ(t, bytesOf(canvas), want); most > bound {
				t.Errorf("a value differs by %d, at most %d is allowed; %.2f%% differ", most, bound, 100*share)
			}
		})
	}
	for k := augment.ShearX; k <= augment.Erase; k++ {
		if !seen[k.String()] {
			t.Errorf("no case has %v", k)
		}
	}
}

// Jitters are those of torchvision on uint8 tensors within 1 of 255.
func TestJitter(t *testing.T) {
	corpus := imagetest.Corpus(t)
	n := 0
	for name, data := range corpus {
		what, ok := strings.CutPrefix(strings.TrimSuffix(name, ".png"), "jitter/")
		if !ok {
			continue
		}
		n++
		t.Run(what, func(t *testing.T) {
			want, size := imagetest.RGB(t, data)
			order := []int{0, 1, 2, 3}
			var first []int
			factor := [4]float64{1, 1, 1, 0} // change nothing
			for step := range strings.SplitSeq(what, "_") {
				var k int
				var f float64
				if _, err := fmt.Sscanf(step, "%d=%g", &k, &f); err != nil {
					t.Fatal(err)
				}
				first, factor[k] = append(first, k), f
				order = slices.DeleteFunc(order, func(o int) bool { return o == k })
			}
			photo := canvasOf(t, corpus["photo.png"])
			var c Canvas
			for y := range size.Dy() {
				c.Append(photo.Row(y)[:size.Dx()])
			}
			c.Apply(augment.Jitter(nil, [4]int(append(first, order...)), factor))
			if most, share := imagetest.Differ(t, bytesOf(&c), want); most > 1 || share > 0.005 {
				t.Errorf("a value differs by %d, %.2f%% differ", most, 100*share)
			}
		})
	}
	if n < 9 {
		t.Errorf("the corpus has %d jitters", n)
	}
}

// A canvas that has had an image of the size allocates nothing.
func TestNoAllocations(t *testing.T) {
	files := imagetest.Augments(t)
	var cases []opCase
	if err := json.Unmarshal(files["cases.json"], &cases); err != nil {
		t.Fatal(err)
	}
	var ops []augment.Op
	for _, c := range cases {
		ops = append(ops, c.op(t))
	}
	c := canvasOf(t, files["picture.png"])
	c.Apply(ops)
	if n := testing.AllocsPerRun(3, func() { c.Apply(ops) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Pictures of a pixel, a row or a column have all operations.
func TestSmallest(t *testing.T) {
	for _, size := range []image.Point{{1, 1}, {1, 7}, {7, 1}, {2, 2}} {
		for k := augment.Identity; k <= augment.Erase; k++ {
			c := &Canvas{Pixels: make(resize.Row, size.X*size.Y), Width: size.X}
			op := augment.Op{Kind: k, Value: 0.4, Kernel: [2]int{2*size.X - 1, 2*size.Y - 1}, Rect: image.Rect(0, 0, 1, 1)}
			c.Apply([]augment.Op{op})
			op.Bilinear = true
			c.Apply([]augment.Op{op})
			if len(c.Pixels) != size.X*size.Y {
				t.Errorf("%v: %v pixels", k, len(c.Pixels))
			}
		}
	}
}

// The time of an operation on an image of 224 x 224.
func BenchmarkApply(b *testing.B) {
	c := &Canvas{Width: 224, Pixels: make(resize.Row, 224*224)}
	for i := range c.Pixels {
		c.Pixels[i] = resize.Pack(byte(i), byte(i>>3), byte(i>>7))
	}
	bench := func(name string, op augment.Op) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.Apply([]augment.Op{op})
			}
		})
	}
	for k := augment.ShearX; k <= augment.Erase; k++ {
		op := augment.Op{Kind: k, Value: 0.3, Kernel: [2]int{23, 23}, Rect: image.Rect(20, 20, 100, 100)}
		if k == augment.Rotate {
			op.Value = 20
		}
		bench(k.String(), op)
	}
	bench("Rotate bilinear", augment.Op{Kind: augment.Rotate, Value: 20, Bilinear: true})
	bench("Blur 2", augment.Op{Kind: augment.Blur, Value: 2, Kernel: [2]int{23, 23}})
}
