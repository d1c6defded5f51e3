package codec_test

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// deepFiles are the pictures of 16 bits by their names, and their samples as others read them.
func deepFiles(t testing.TB) (files map[string][]byte, want map[string][]uint16) {
	t.Helper()
	files, want = map[string][]byte{}, map[string][]uint16{}
	all := imagetest.Deep(t)
	for name, data := range all {
		if samples, ok := all["want/"+name]; ok {
			files[name] = data
			for pair := range slices.Chunk(samples, 2) {
				want[name] = append(want[name], binary.LittleEndian.Uint16(pair))
			}
		}
	}
	if len(files) < 30 {
		t.Fatalf("%d files", len(files))
	}
	return files, want
}

// Files of OpenCV, tifffile and pypng have the samples that these libraries read, in color and
// alpha, and without KeepDepth the upper bytes.
func TestDeep(t *testing.T) {
	files, want := deepFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			var deep, narrow codec.Go
			deep.KeepDepth()
			deep.KeepAlpha()
			narrow.KeepAlpha()
			for _, d := range []*codec.Go{&deep, &narrow} {
				if err := decode(t, d, files[name]); err != nil {
					t.Fatal(err)
				}
			}
			h, err := codec.ReadHeader(files[name])
			if err != nil {
				t.Fatal(err)
			}
			p, err := deep.Decode(files[name], h, h.Bounds(), 1)
			if err != nil || !p.Deep {
				t.Fatal(p.Deep, err)
			}
			short, err := narrow.Decode(files[name], h, h.Bounds(), 1)
			if err != nil || short.Deep {
				t.Fatal(short.Deep, err)
			}
			channels := len(want[name]) / (h.Width * h.Height)
			if alpha := channels%2 == 0; alpha && (p.Alpha == nil || short.Alpha == nil) {
				t.Fatal("it has no alpha")
			}
			for i := range h.Width * h.Height {
				pixel := want[name][channels*i:][:channels]
				color := []uint16{pixel[0], pixel[0], pixel[0]}
				if channels > 2 {
					color = pixel[:3]
				}
				for c, v := range color {
					if got := binary.BigEndian.Uint16(p.RGB[6*i+2*c:]); got != v || short.RGB[3*i+c] != byte(v>>8) {
						t.Fatalf("channel %d of pixel %d is %d and %d, want %d", c, i, got, short.RGB[3*i+c], v)
					}
				}
				if channels%2 == 0 {
					v := pixel[channels-1]
					if got := binary.BigEndian.Uint16(p.Alpha[2*i:]); got != v || short.Alpha[i] != byte(v>>8) {
						t.Fatalf("the alpha of pixel %d is %d and %d, want %d", i, got, short.Alpha[i], v)
					}
				}
			}
		})
	}
}

// A part of a picture has the samples of the whole.
func TestDeepInPart(t *testing.T) {
	files, want := deepFiles(t)
	file, name := files["tifffile-rgb-big-tiles.tiff"], "tifffile-rgb-big-tiles.tiff"
	h, err := codec.ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	var d codec.Go
	d.KeepDepth()
	r := h.Bounds().Inset(11)
	p, err := d.Decode(file, h, r, 1)
	if err != nil || p.Rect != r {
		t.Fatal(p.Rect, err)
	}
	for i := range p.RGB[:len(p.RGB)/2] {
		x, y := r.Min.X+i/3%r.Dx(), r.Min.Y+i/3/r.Dx()
		if got, v := binary.BigEndian.Uint16(p.RGB[2*i:]), want[name][3*(y*h.Width+x)+i%3]; got != v {
			t.Fatalf("%d, %d is %d, want %d", x, y, got, v)
		}
	}
}

// Alpha is laid on a background in 16 bits, within half of one.
func TestBlendDeep(t *testing.T) {
	files, want := deepFiles(t)
	background := [3]uint16{65535, 12345, 7}
	for _, name := range []string{"cv2-rgba.png", "tifffile-rgba-little.tiff", "tifffile-rgba-associated.tiff"} {
		h, err := codec.ReadHeader(files[name])
		if err != nil {
			t.Fatal(err)
		}
		var d codec.Go
		d.KeepDepth()
		d.Blend(background)
		p, err := d.Decode(files[name], h, h.Bounds(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Width * h.Height {
			pixel := want[name][4*i:][:4]
			for c, under := range background {
				v, a := float64(pixel[c]), float64(pixel[3])/65535
				if !strings.Contains(name, "associated") {
					v *= a
				}
				got, exact := float64(binary.BigEndian.Uint16(p.RGB[6*i+2*c:])), min(65535, v+float64(under)*(1-a))
				if diff := got - exact; diff > 0.5001 || diff < -0.5001 {
					t.Fatalf("%s: channel %d of pixel %d is %v, want %v", name, c, i, got, exact)
				}
			}
		}
	}
}
