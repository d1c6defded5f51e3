package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/images/turbo"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// decoders are the Go decoder and, where it is there, libjpeg-turbo.
func decoders(t testing.TB) map[string]func() codec.Decoder {
	all := map[string]func() codec.Decoder{"go": func() codec.Decoder { return new(codec.Go) }}
	if l, err := turbo.Load(imagetest.FindTurbo()); err == nil {
		all["turbo"] = func() codec.Decoder {
			d, err := l.New()
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	} else {
		t.Log(err)
	}
	return all
}

func newAugmenter(t testing.TB, o Options, d codec.Decoder) *Augmenter {
	t.Helper()
	a, err := New(o, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// apply is the tensor of a file.
func apply(t testing.TB, a *Augmenter, data []byte, seed uint64) []byte {
	t.Helper()
	dst := make([]byte, a.options.Bytes())
	if err := a.Apply(dst, data, seed); err != nil {
		t.Fatal(err)
	}
	return dst
}

// uprightOf decodes a whole picture and turns it as an EXIF orientation says, or as its own if that
// is 0.
func uprightOf(t testing.TB, d codec.Decoder, data []byte, orientation int) resize.Source {
	t.Helper()
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Decode(data, h, h.Bounds(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if orientation != 0 {
		h.Orientation = orientation
	}
	width, height := h.Size()
	up := resize.Source{RGB: make([]byte, 3*width*height), Rect: image.Rect(0, 0, width, height)}
	for y := range h.Height {
		for x := range h.Width {
			to := turned(x, y, h)
			copy(up.RGB[3*(to.Y*width+to.X):][:3], p.RGB[3*(y*h.Width+x):])
		}
	}
	return up
}

// slow is the same by the book: everything decoded, turned, cropped, resized.
func slow(t testing.TB, o Options, d codec.Decoder, data []byte, seed uint64) []byte {
	t.Helper()
	o = o.withDefaults()
	up := uprightOf(t, d, data, 0)
	width, height := up.Rect.Dx(), up.Rect.Dy()
	drawn := o.Draw(width, height, seed)
	box := drawn.Box
	x, y := resize.Whole(box.Min.X, box.Dx(), o.Width), resize.Whole(box.Min.Y, box.Dy(), o.Height)
	if o.Crop == CropCenter {
		short := min(width, height)
		x, y = resize.Whole(0, width, o.Resize*width/short), resize.Whole(0, height, o.Resize*height/short)
		x.From, y.From = center(x.Out, o.Width), center(y.Out, o.Height)
		x.To, y.To = x.From+o.Width, y.From+o.Height
	}
	var r resize.Resizer
	dst := make([]byte, o.Bytes())
	w := newWriter(o, 8)
	if err := w.to(dst, drawn.Flip); err != nil {
		t.Fatal(err)
	}
	r.Resize(up, x, y, o.filter(), w.row)
	return dst
}

// turned is where a stored pixel lies upright, from the table of the EXIF specification.
func turned(x, y int, h codec.Header) image.Point {
	right, bottom := h.Width-1-x, h.Height-1-y
	return []image.Point{{}, {x, y}, {right, y}, {right, bottom}, {x, bottom}, {y, x}, {bottom, x}, {bottom, right}, {y, right}}[h.Orientation]
}

// What is decoded in part, turned and cropped is, byte for byte, what the whole picture gives.
func TestApplyIsByTheBook(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for codecName, open := range decoders(t) {
		for kind, o := range map[string]Options{
			"random": {Height: 24, Width: 20, Crop: CropRandomResized, Flip: 0.5, Interpolation: Bicubic, ReducingGap: -1},
			"center": {Height: 20, Resize: 31, Crop: CropCenter, ReducingGap: -1},
			"none":   {Height: 20, Width: 33, DType: Float32, Layout: HWC, ReducingGap: -1},
		} {
			for _, name := range []string{
				"pil-420-baseline-90x70.jpg", "pil-422-progressive-67x45.jpg", "cv2-440.jpg", "pil-cmyk.jpg", "pil-rgba.png",
				"pil-alpha.webp", "exif-2.jpg", "exif-3.jpg", "exif-4.jpg", "exif-5.jpg", "exif-6.jpg", "exif-7.jpg", "exif-8.jpg",
			} {
				t.Run(fmt.Sprint(codecName, " ", kind, " ", name), func(t *testing.T) {
					a, d := newAugmenter(t, o, open()), open()
					defer d.Close()
					for seed := range uint64(8) {
						if got := apply(t, a, corpus[name], seed); !bytes.Equal(got, slow(t, o, d, corpus[name], seed)) {
							t.Fatalf("seed %d differs", seed)
						}
					}
				})
			}
		}
	}
}

// Orientation can be ignored.
func TestIgnoreOrientation(t *testing.T) {
	corpus := imagetest.Corpus(t)
	a := newAugmenter(t, Options{Height: 16, IgnoreOrientation: true}, new(codec.Go))
	want := apply(t, a, corpus["exif-1.jpg"], 0)
	for o := 2; o <= 8; o++ {
		if got := apply(t, a, corpus[fmt.Sprintf("exif-%d.jpg", o)], 0); !bytes.Equal(got, want) {
			t.Errorf("orientation %d was not ignored", o)
		}
	}
}

// Decoding at a scale gives nearly the pixels of the full size, also where EXIF turns the picture
// and the scale does not divide its size.
func TestReducingGap(t *testing.T) {
	corpus := imagetest.Corpus(t)
	open, ok := decoders(t)["turbo"]
	if !ok {
		t.Skip("libjpeg-turbo is not there")
	}
	for o := 1; o <= 8; o++ {
		for _, size := range []int{4, 9, 16} {
			t.Run(fmt.Sprint(o, " ", size), func(t *testing.T) {
				data := corpus[fmt.Sprintf("exif-%d.jpg", o)]
				quick := newAugmenter(t, Options{Height: size}, open())
				h, err := codec.ReadHeader(data)
				if err != nil {
					t.Fatal(err)
				}
				w, ht := h.Size()
				if d, want := quick.denom(h, new(quick.options.Draw(w, ht, 0))), map[int]int{4: 4, 9: 2, 16: 1}[size]; d != want {
					t.Fatalf("the scale is 1/%d, want 1/%d", d, want)
				}
				full := newAugmenter(t, Options{Height: size, ReducingGap: -1}, open())
				got, want := apply(t, quick, data, 0), apply(t, full, data, 0)
				sum := 0
				for i := range got {
					sum += max(int(got[i])-int(want[i]), int(want[i])-int(got[i]))
				}
				most, _ := imagetest.Differ(t, got, want)
				if mean := float64(sum) / float64(len(got)); mean > 2 || most > 14 {
					t.Errorf("values differ by %.2f in the mean, %d at most", mean, most)
				}
			})
		}
	}
}

// A decoder that cannot scale gets what the full size needs.
func TestReducingGapOfGo(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for o := 1; o <= 8; o++ {
		for _, options := range []Options{{Height: 4}, {Height: 9}, {Height: 5, Crop: CropRandomResized}, {Height: 5, Resize: 7, Crop: CropCenter, Interpolation: Bicubic}} {
			data := corpus[fmt.Sprintf("exif-%d.jpg", o)]
			a := newAugmenter(t, options, new(codec.Go))
			for seed := range uint64(20) {
				if got := apply(t, a, data, seed); !bytes.Equal(got, slow(t, options, new(codec.Go), data, seed)) {
					t.Errorf("orientation %d, %+v, seed %d differs", o, options, seed)
				}
			}
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	corpus := imagetest.Corpus(t)
	jpeg := corpus["pil-420-progressive-67x45.jpg"]
	for name, c := range map[string]struct {
		o    Options
		data []byte
		want string
	}{
		"empty":     {Options{}, nil, "the image is empty"},
		"text":      {Options{}, []byte("<html>"), `the image starts with "<html>": it is not JPEG, PNG, WebP, GIF, BMP or TIFF`},
		"truncated": {Options{}, jpeg[:len(jpeg)-2], "JPEG: it is truncated: the end marker is missing after"},
		"pixels":    {Options{MaxPixels: 3014}, jpeg, "JPEG: 67 x 45 is 3015 pixels, at most 3014 are allowed; raise max_pixels if it is genuine"},
		"bytes":     {Options{MaxBytes: 100}, jpeg, "at most 100 are allowed; raise max_bytes if it is genuine"},
		"scans":     {Options{MaxScans: 3}, jpeg, "scans, at most 3 are allowed"},
		"bomb":      {Options{}, bomb(corpus["pil-rgb.png"]), "PNG: 65535 x 65535 is 4294836225 pixels"},
		"damaged":   {Options{}, corpus["pil-rgb.png"][:200], "PNG: it is damaged: png: invalid format: not enough pixel data"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAugmenter(t, c.o, new(codec.Go))
			err := a.Apply(make([]byte, a.options.Bytes()), c.data, 0)
			if bad := new(codec.Error); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	a := newAugmenter(t, Options{}, new(codec.Go))
	if err := a.Apply(make([]byte, 5), jpeg, 0); err == nil || !strings.Contains(err.Error(), "the destination has 5 bytes, an image has 150528") {
		t.Errorf("a short destination: %v", err)
	}
}

// bomb is a PNG that says that it is huge.
func bomb(data []byte) []byte {
	b := bytes.Clone(data)
	copy(b[16:24], []byte{0, 0, 255, 255, 0, 0, 255, 255})
	return b
}

// TIFFs are turned upright as Pillow turns them.
func TestTurnedTIFF(t *testing.T) {
	files := imagetest.Formats(t)
	for o := 1; o <= 8; o++ {
		want, r := imagetest.RGB(t, files[fmt.Sprintf("upright/turned-%d.tiff.png", o)])
		a := newAugmenter(t, Options{Height: r.Dy(), Width: r.Dx(), Layout: HWC, Interpolation: Nearest}, new(codec.Go))
		if got := apply(t, a, files[fmt.Sprintf("turned-%d.tiff", o)], 0); !bytes.Equal(got, want) {
			t.Errorf("orientation %d differs", o)
		}
	}
}
