package images

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// alphaOf is the alpha of a file as a gray PNG; white without alpha.
func alphaOf(t *testing.T, file []byte) []byte {
	t.Helper()
	h, err := codec.ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	var d codec.Go
	d.KeepAlpha()
	p, err := d.Decode(file, h, h.Bounds(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m := image.NewGray(p.Rect)
	for i := range m.Pix {
		m.Pix[i] = 255
		if p.Alpha != nil {
			m.Pix[i] = p.Alpha[i]
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The fourth channel is the alpha, as a picture of it would be scaled, and the others equal
// a result with three.
func TestAlpha(t *testing.T) {
	files := imagetest.Corpus(t)
	for name, data := range imagetest.Formats(t) {
		files[name] = data
	}
	for kind, o := range map[string]Options{
		"crop":      {Height: 24, Width: 20, Crop: CropRandomResized, Flip: 0.5, Interpolation: Bicubic},
		"letterbox": {Height: 40, Width: 90, Crop: CropLetterbox, Fill: [3]int{9, 99, 199}},
		"center":    {Height: 20, Resize: 31, Crop: CropCenter, ReducingGap: -1},
	} {
		for _, dtype := range []DType{Uint8, Float32, BFloat16} {
			for _, layout := range []Layout{CHW, HWC} {
				for _, name := range []string{"pil-rgba.png", "pil-alpha.webp", "alpha-raw.tiff", "transparent.gif", "exif-6.jpg", "pil-gray.png"} {
					file, ok := files[name]
					if !ok {
						t.Logf("%s is not there", name)
						continue
					}
					t.Run(fmt.Sprint(kind, dtype, layout, name), func(t *testing.T) {
						o.DType, o.Layout = dtype, layout
						four, gray := o, o
						four.Channels, gray.Channels = 4, 1
						if gray.Crop == CropLetterbox {
							gray.Fill = [3]int{255, 255, 255}
						}
						a, rgb, alpha := newAugmenter(t, four, new(codec.Go)), newAugmenter(t, o, new(codec.Go)), newAugmenter(t, gray, new(codec.Go))
						mask := alphaOf(t, file)
						for seed := range uint64(4) {
							got, color := apply(t, a, file, seed), apply(t, rgb, file, seed)
							var plane []byte
							if name == "exif-6.jpg" { // whose alpha is not turned
								plane = bytes.Repeat(pixel(t, a, 255), len(color)/3/dtype.size())
							} else {
								plane = apply(t, alpha, mask, seed)
							}
							if !bytes.Equal(got, joined(color, plane, dtype.size(), layout)) {
								t.Fatalf("seed %d differs", seed)
							}
						}
					})
				}
			}
		}
	}
}

// pixel is a value of alpha as the options write it.
func pixel(t *testing.T, a *Augmenter, v uint64) []byte {
	t.Helper()
	o := a.options
	o.Height, o.Width, o.Layout = 1, 1, CHW
	dst, w := make([]byte, o.Bytes()), newAlpha(o, 8)
	if err := w.to(dst, false); err != nil {
		t.Fatal(err)
	}
	w.row(0, []uint64{v})
	return dst[3*o.DType.size():]
}

// joined is a tensor of three channels with a fourth.
func joined(color, alpha []byte, size int, layout Layout) (all []byte) {
	if layout == CHW {
		return append(bytes.Clone(color), alpha...)
	}
	for ; len(alpha) > 0; color, alpha = color[3*size:], alpha[size:] {
		all = append(append(all, color[:3*size]...), alpha[:size]...)
	}
	return all
}

// The alpha of a PNG is the one that Go's library has, and a null image is opaque.
func TestAlphaOfPNG(t *testing.T) {
	file := imagetest.Corpus(t)["pil-rgba.png"]
	m, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := png.Decode(bytes.NewReader(alphaOf(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	if kept.Bounds() != m.Bounds() {
		t.Fatalf("%v, want %v", kept.Bounds(), m.Bounds())
	}
	seen := map[byte]bool{}
	for i, v := range kept.(*image.Gray).Pix {
		want := m.(*image.NRGBA).Pix[4*i+3]
		if seen[want] = true; v != want {
			t.Fatalf("pixel %d has %d, want %d", i, v, want)
		}
	}
	if len(seen) < 3 {
		t.Errorf("the picture has the alphas %v", seen)
	}
	a := newAugmenter(t, Options{Channels: 4, Height: 2, Null: Color{Given: true, Channels: [3]int{1, 2, 3}}}, new(codec.Go))
	_ = apply(t, newAugmenter(t, Options{Channels: 4, Height: 2}, new(codec.Go)), file, 0)
	dst := make([]byte, 16)
	if err := a.Blank(dst); err != nil || !bytes.Equal(dst, []byte{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 255, 255, 255, 255}) {
		t.Errorf("%v, %v", dst, err)
	}
}
