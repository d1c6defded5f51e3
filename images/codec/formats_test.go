package codec_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// GIF, BMP, TIFF and the first frame of animations are decoded to Pillow's pixels, within what the
// decoder says that it takes.
func TestFormats(t *testing.T) {
	files := imagetest.Formats(t)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(imagetest.Encoded(files))) {
		t.Run(name, func(t *testing.T) {
			n++
			var d codec.Go
			if err := decode(t, &d, files[name]); err != nil {
				t.Fatal(err)
			}
			h, err := codec.ReadHeader(files[name])
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.Decode(files[name], h, h.Bounds(), 1)
			if err != nil {
				t.Fatal(err)
			}
			want, err := png.Decode(bytes.NewReader(files["want/"+name+".png"]))
			if err != nil {
				t.Fatal(err)
			}
			if want.Bounds() != h.Bounds() {
				t.Fatalf("%v, want %v", h.Bounds(), want.Bounds())
			}
			if i, got, pixel := difference(p, want); i >= 0 {
				t.Errorf("pixel %d, %d is %v, want %v", i%h.Width, i/h.Width, got, pixel)
			}
		})
	}
	if n < 40 {
		t.Errorf("%d files", n)
	}
}

// difference returns the first pixel that differs, or -1.
func difference(p codec.Pixels, want image.Image) (i int, got, pixel [3]byte) {
	for y := range p.Rect.Dy() {
		for x := range p.Rect.Dx() {
			i := y*p.Rect.Dx() + x
			r, g, b, _ := want.At(x, y).RGBA()
			got, pixel := [3]byte(p.RGB[3*i:]), [3]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}
			if got != pixel {
				return i, got, pixel
			}
		}
	}
	return -1, got, pixel
}

// Masks in these formats are indices and samples of 8 and 16 bits.
func TestFormatSamples(t *testing.T) {
	files := imagetest.Formats(t)
	for name, width := range map[string]int{"palette.gif": 1, "palette.bmp": 1, "palette-tiff_lzw.tiff": 1, "gray-raw.tiff": 1, "wide-tiff_adobe_deflate.tiff": 2} {
		t.Run(name, func(t *testing.T) {
			h, err := codec.ReadHeader(files[name])
			if err != nil {
				t.Fatal(err)
			}
			var d codec.Go
			s, err := d.Samples(files[name], h, h.Bounds())
			if err != nil || s.Width != width || len(s.Pix) != width*67*45 {
				t.Fatalf("%d bytes of %d, %v", len(s.Pix), s.Width, err)
			}
			if strings.HasPrefix(name, "palette") && slices.Max(s.Pix) >= 60 {
				t.Errorf("an index is %d of 60", slices.Max(s.Pix))
			}
		})
	}
}

// Sizes are known from headers, before memory is taken, and what cannot be decoded is said.
func TestFormatHeaders(t *testing.T) {
	files := imagetest.Formats(t)
	change := func(name string, at int, b ...byte) []byte {
		data := slices.Clone(files[name])
		copy(data[at:], b)
		return data
	}
	tiff := files["rgb-raw.tiff"]
	tag := func(n, value byte) []byte { // a short tag of rgb-raw.tiff, which is little-endian
		at := bytes.Index(tiff, []byte{n, 1, 3, 0, 1, 0, 0, 0})
		if at < 0 {
			at = bytes.Index(tiff, []byte{n, 1, 4, 0, 1, 0, 0, 0})
		}
		if at < 0 {
			t.Fatalf("no tag %d", 256+int(n))
		}
		return change("rgb-raw.tiff", at+8, value, 0)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"bmp bomb":      {change("rgb.bmp", 18, 255, 255, 255, 0, 255, 255, 255, 0), "BMP: 16777215 x 16777215 is 281474943156225 pixels, at most"},
		"gif bomb":      {change("rgb.gif", 6, 255, 255, 255, 255), "GIF: 65535 x 65535 is 4294836225 pixels, at most"},
		"gif cut":       {files["rgb.gif"][:15], "GIF: it is truncated"},
		"gif frame":     {change("moving.gif", 6, 3, 0, 3, 0), "GIF: its first frame is (0,0)-(67,45), and its screen (3,3)"},
		"bmp 16 bits":   {change("rgb.bmp", 28, 16), "BMP: it has 16 bits a pixel; 1, 2, 4, 8, 24 and 32 are supported"},
		"bmp size":      {change("rgb.bmp", 18, 0, 0, 0, 0), "BMP: its size is 0 x 45"},
		"tiff cut":      {tiff[:7], "TIFF: it is truncated"},
		"tiff cmyk":     {tag(6, 5), "TIFF: it has 3 channels of CMYK: gray, RGB, RGBA and palettes are supported"},
		"tiff jpeg":     {tag(3, 7), "TIFF: it has JPEG within, which is not supported"},
		"tiff fax":      {files["fax.tiff"], "TIFF: it is coded as a fax, which is not supported"},
		"tiff width":    {tag(0, 0), "TIFF: its size is 0 x 45"},
		"webp in part":  {change("part.webp", 24, 3, 0, 0, 3, 0, 0), "WebP: its first frame is (10,14)-(77,59), outside of its canvas (4,4)"},
		"webp no frame": {files["part.webp"][:46], "WebP: it"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := codec.ReadHeader(c.data)
			if err == nil {
				err = codec.Limits{}.Check(h)
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %+v, %v, want %s", h, err, c.want)
			}
		})
	}
}

// The orientation of a TIFF is a tag of its own directory.
func TestOrientationOfTIFF(t *testing.T) {
	files := imagetest.Formats(t)
	for want := 1; want <= 8; want++ {
		h, err := codec.ReadHeader(files[fmt.Sprintf("turned-%d.tiff", want)])
		if err != nil || h.Orientation != want {
			t.Errorf("%d, want %d, %v", h.Orientation, want, err)
		}
	}
}
