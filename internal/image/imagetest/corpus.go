// Package imagetest has what the tests of images share: files of real encoders, with the pixels
// that the libraries everyone trains with make of them. images/testdata/make.py makes them.
package imagetest

import (
	"archive/zip"
	"bytes"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/images/codec"
)

// Corpus is the files of corpus.zip by their names.
func Corpus(t testing.TB) map[string][]byte { return archive(t, "corpus.zip") }

// Pairs is the files of pairs.zip, which images/testdata/pairs.py makes: a picture with its masks.
func Pairs(t testing.TB) map[string][]byte { return archive(t, "pairs.zip") }

// Augments is the files of augments.zip, which images/testdata/augments.py makes: a picture, and what
// torchvision's functions make of it.
func Augments(t testing.TB) map[string][]byte { return archive(t, "augments.zip") }

// Formats is the files of formats.zip, which images/testdata/formats.py makes with Pillow: GIF, BMP,
// TIFF and animations.
func Formats(t testing.TB) map[string][]byte { return archive(t, "formats.zip") }

// Deep is the files of deep.zip, which images/testdata/deep.py makes with OpenCV, tifffile and
// pypng: pictures of 16 bits.
func Deep(t testing.TB) map[string][]byte { return archive(t, "deep.zip") }

func archive(t testing.TB, name string) map[string][]byte {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	z, err := zip.OpenReader(filepath.Join(filepath.Dir(here), "../../../images/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Encoded is the files for tests of decoders: each has a "want/".
func Encoded(corpus map[string][]byte) map[string][]byte {
	files := map[string][]byte{}
	for name, data := range corpus {
		if _, ok := corpus["want/"+name+".png"]; ok {
			files[name] = data
		}
	}
	return files
}

// RGB is the pixels of a PNG of the corpus.
func RGB(t testing.TB, data []byte) (pixels []byte, r image.Rectangle) {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r = m.Bounds()
	for y := range r.Dy() {
		for x := range r.Dx() {
			cr, cg, cb, _ := m.At(x, y).RGBA()
			pixels = append(pixels, byte(cr>>8), byte(cg>>8), byte(cb>>8))
		}
	}
	return pixels, r
}

// Differ is the largest difference of two pictures, and the share of values that differ.
func Differ(t testing.TB, got, want []byte) (most int, share float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d bytes of pixels, want %d", len(got), len(want))
	}
	n := 0
	for i, v := range got {
		d := max(int(v)-int(want[i]), int(want[i])-int(v))
		most = max(most, d)
		if d > 0 {
			n++
		}
	}
	return most, float64(n) / float64(max(1, len(got)))
}

// Mutate damages a copy of a file: flipped bits, other bytes, a cut, a part that is repeated or
// missing.
func Mutate(data []byte, r *rand.Rand) []byte {
	b := bytes.Clone(data)
	for range 1 + r.IntN(4) {
		if len(b) < 4 {
			return b
		}
		at := r.IntN(len(b))
		n := r.IntN(min(32, len(b)-at) + 1)
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			b[at] = 0xff
		case 3:
			b = b[:at]
		case 4:
			b = append(b[:at:at], b[at+n:]...)
		default:
			b = append(b[:at+n:at+n], b[at:]...)
		}
	}
	return b
}

// Turbo is the path of libjpeg-turbo, or skips the test.
func Turbo(t testing.TB) string {
	t.Helper()
	p := FindTurbo()
	if p == "" {
		t.Skip("libjpeg-turbo is not there: tools/turbojpeg/build makes it, or SHARDFEED_LIBTURBOJPEG names it")
	}
	return p
}

// FindTurbo is the path of libjpeg-turbo that the environment names, or that
// tools/turbojpeg/build has made last, or "".
func FindTurbo() string {
	if p := os.Getenv("SHARDFEED_LIBTURBOJPEG"); p != "" {
		return p
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(cache, "shardfeed", "turbojpeg-"+runtime.GOARCH+"-*", ".complete"))
	newest, when := "", time.Time{}
	for _, f := range found {
		if s, err := os.Stat(f); err == nil && s.ModTime().After(when) {
			newest, when = filepath.Join(filepath.Dir(f), "libturbojpeg.so.0"), s.ModTime()
		}
	}
	return newest
}

// CheckDecoder holds a decoder against the pictures of a corpus: bounds has the largest
// difference that each kind of file may have, by a part of its name; the first that fits counts.
func CheckDecoder(t *testing.T, d codec.Decoder, bounds []Bound) {
	corpus := Corpus(t)
	for name, data := range Encoded(corpus) {
		t.Run(name, func(t *testing.T) {
			h, err := codec.ReadHeader(data)
			if err != nil {
				t.Fatal(err)
			}
			want, r := RGB(t, corpus["want/"+name+".png"])
			if h.Bounds() != r {
				t.Fatalf("the header says %v, want %v", h.Bounds(), r)
			}
			bound := bounds[slices.IndexFunc(bounds, func(b Bound) bool { return strings.Contains(name, b.Name) })]
			p, err := d.Decode(data, h, r, 1)
			if bound.Most < 0 {
				if err == nil {
					t.Error("it was decoded, which is not expected of this decoder")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if most, share := Differ(t, p.RGB, want); most > bound.Most {
				t.Errorf("a value differs by %d, at most %d are allowed; %.2f%% differ", most, bound.Most, 100*share)
			}
			CheckParts(t, d, data, h, bytes.Clone(p.RGB))
		})
	}
}

// A Bound is the largest difference that files may have whose names have a part; -1: the decoder
// refuses them.
type Bound struct {
	Name string
	Most int
}

// CheckParts holds decoded rectangles against the whole picture.
func CheckParts(t *testing.T, d codec.Decoder, data []byte, h codec.Header, whole []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		x, y := r.IntN(h.Width), r.IntN(h.Height)
		part := image.Rect(x, y, x+1+r.IntN(h.Width-x), y+1+r.IntN(h.Height-y))
		p, err := d.Decode(data, h, part, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !part.In(p.Rect) || len(p.RGB) != 3*p.Rect.Dx()*p.Rect.Dy() {
			t.Fatalf("%v was asked for, got %v with %d bytes", part, p.Rect, len(p.RGB))
		}
		for y := part.Min.Y; y < part.Max.Y; y++ {
			got := p.RGB[3*((y-p.Rect.Min.Y)*p.Rect.Dx()+part.Min.X-p.Rect.Min.X):][:3*part.Dx()]
			if want := whole[3*(y*h.Width+part.Min.X):][:3*part.Dx()]; !bytes.Equal(got, want) {
				t.Fatalf("row %d of %v is not that of the whole picture", y, part)
			}
		}
	}
}
