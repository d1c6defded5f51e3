package turbo

import (
	"bytes"
	"image"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// needsSupport skips a test in builds that call no library.
func needsSupport(t testing.TB) {
	t.Helper()
	if !supported {
		t.Skip("this build does not call libjpeg-turbo")
	}
}

func newDecoder(t testing.TB) *Decoder {
	t.Helper()
	needsSupport(t)
	l, err := Load(imagetest.Turbo(t))
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// The pixels are those of libjpeg-turbo as Pillow calls it, in any rectangle.
func TestPixels(t *testing.T) {
	imagetest.CheckDecoder(t, newDecoder(t), []imagetest.Bound{{Most: 0}})
}

// What a decoder did before changes nothing: not the scale, not the rectangle, not a file that
// ended with an error.
func TestSequence(t *testing.T) {
	files := imagetest.Corpus(t)
	data := files["pil-420-baseline-90x70.jpg"]
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	parts := []image.Rectangle{h.Bounds(), image.Rect(33, 20, 60, 41)}
	d := newDecoder(t)
	for _, damaged := range []bool{false, true} {
		for _, before := range []int{1, 2, 8} {
			for _, denom := range []int{1, 2, 8} {
				for i, part := range parts {
					if _, err := d.Decode(data, h, parts[1-i], before); err != nil {
						t.Fatal(err)
					}
					if damaged {
						if _, err := d.Decode(data[:len(data)/2], h, h.Bounds(), before); err == nil {
							t.Fatal("half a file was decoded")
						}
					}
					got, err := d.Decode(data, h, part, denom)
					if err != nil {
						t.Fatal(err)
					}
					want, err := newDecoder(t).Decode(data, h, part, denom)
					if err != nil {
						t.Fatal(err)
					}
					if got.Rect != want.Rect || !bytes.Equal(got.RGB, want.RGB) {
						t.Errorf("%v at 1/%d after 1/%d, damaged %v: %v differs from %v", part, denom, before, damaged, got.Rect, want.Rect)
					}
				}
			}
		}
	}
}
