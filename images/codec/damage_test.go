package codec_test

import (
	"encoding/binary"
	"errors"
	"image"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// limits are small, so that mutated sizes are refused.
var limits = codec.Limits{MaxPixels: 1 << 18, MaxBytes: 1 << 20, MaxScans: 40}

// decode decodes a file of any origin as the augmenter does. It fails the test when a decoder takes
// more memory than it foretold.
func decode(t testing.TB, d codec.Decoder, data []byte) error {
	h, err := codec.ReadHeader(data)
	if err == nil {
		err = limits.Check(h)
	}
	if err == nil {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = d.Decode(data, h, h.Bounds(), 1)
		runtime.ReadMemStats(&after)
		if took, most := after.TotalAlloc-before.TotalAlloc, d.Memory(h)+2*int64(len(data))+garbage(h); int64(took) > most {
			t.Errorf("%+v took %d bytes, foretold were %d", h, took, most)
		}
	}
	if bad := new(codec.Error); err != nil && !errors.As(err, &bad) {
		t.Errorf("the error is no codec.Error: %v", err)
	}
	return err
}

// garbage is what the decoder of each strip or tile of a TIFF leaves to the garbage collector.
func garbage(h codec.Header) int64 {
	if h.Format != codec.TIFF {
		return 0
	}
	w, ht := max(1, h.MCUWidth), max(1, h.MCUHeight)
	blocks := int64((h.Width+w-1)/w) * int64((h.Height+ht-1)/ht)
	return blocks * (128<<10 + 32*int64(w)*int64(ht))
}

// Thousands of damaged files end with an error or with pixels, within the memory foretold.
func TestGoDamaged(t *testing.T) {
	files := imagetest.Encoded(imagetest.Corpus(t))
	maps.Copy(files, imagetest.Encoded(imagetest.Formats(t)))
	deep, _ := deepFiles(t)
	maps.Copy(files, deep)
	r := rand.New(rand.NewPCG(5, 6))
	var d codec.Go
	d.KeepDepth()
	failed, n := 0, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := decode(t, &d, files[name]); err != nil && name != "cv2-restart.jpg" && name != "turbo-ycck-422.jpg" {
			t.Errorf("%s, which is sound: %v", name, err)
		}
		for range 60 {
			n++
			if err := decode(t, &d, imagetest.Mutate(files[name], r)); err != nil {
				failed++
				if strings.Contains(err.Error(), "panicked") {
					t.Logf("%s: %v", name, err)
				}
			}
		}
	}
	t.Logf("%d of %d failed", failed, n)
	if failed < n/3 {
		t.Errorf("%d of %d damaged files failed", failed, n)
	}
}

// A JPEG that is cut anywhere is truncated.
func TestTruncatedJPEG(t *testing.T) {
	data := imagetest.Corpus(t)["pil-420-progressive-67x45.jpg"]
	for n := 2; n < len(data)-1; n++ {
		if h, err := codec.ReadHeader(data[:n]); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Fatalf("%d of %d bytes: %+v, %v", n, len(data), h, err)
		}
	}
}

func TestReadHeader(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for name, want := range map[string]codec.Header{
		"pil-420-progressive-67x45.jpg": {Format: codec.JPEG, Width: 67, Height: 45, Components: 3, Bits: 8, Progressive: true, Scans: 10, MCUWidth: 16, MCUHeight: 16, Luma: 0x22},
		"pil-422-baseline-90x70.jpg":    {Format: codec.JPEG, Width: 90, Height: 70, Components: 3, Bits: 8, Scans: 1, MCUWidth: 16, MCUHeight: 8, Luma: 0x21},
		"pil-restarts.jpg":              {Format: codec.JPEG, Width: 67, Height: 45, Components: 3, Bits: 8, Scans: 1, Restarts: true, MCUWidth: 16, MCUHeight: 16, Luma: 0x22},
		"pil-gray.jpg":                  {Format: codec.JPEG, Width: 67, Height: 45, Components: 1, Bits: 8, Scans: 1, MCUWidth: 8, MCUHeight: 8, Luma: 0x11},
		"pil-cmyk.jpg":                  {Format: codec.JPEG, Width: 67, Height: 45, Components: 4, Bits: 8, Scans: 1, MCUWidth: 8, MCUHeight: 8},
		"exif-6.jpg":                    {Format: codec.JPEG, Width: 67, Height: 45, Components: 3, Bits: 8, Scans: 1, MCUWidth: 16, MCUHeight: 16, Luma: 0x22, Orientation: 6},
		"cv2-rgb16.png":                 {Format: codec.PNG, Width: 67, Height: 45, Components: 3, Bits: 16, Scans: 1},
		"pil-la.png":                    {Format: codec.PNG, Width: 67, Height: 45, Components: 2, Bits: 8, Scans: 1},
		"vips-interlaced.png":           {Format: codec.PNG, Width: 67, Height: 45, Components: 3, Bits: 8, Scans: 1, Progressive: true},
		"pil-lossy-5x2.webp":            {Format: codec.WebP, Width: 5, Height: 2, Components: 3, Bits: 8, Scans: 1},
		"pil-lossless-67x45.webp":       {Format: codec.WebP, Width: 67, Height: 45, Components: 3, Bits: 8, Scans: 1},
		"pil-alpha.webp":                {Format: codec.WebP, Width: 67, Height: 45, Components: 3, Bits: 8, Scans: 1},
	} {
		t.Run(name, func(t *testing.T) {
			want.Orientation, want.Bytes = max(1, want.Orientation), len(corpus[name])
			if got, err := codec.ReadHeader(corpus[name]); err != nil || got != want {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// exif is EXIF data in a byte order with some entries before the orientation.
func exif(order binary.AppendByteOrder, before int, value uint16) []byte {
	b := []byte("MM")
	if order.String() == "LittleEndian" {
		b = []byte("II")
	}
	b = order.AppendUint32(order.AppendUint16(b, 42), 8)
	b = order.AppendUint16(b, uint16(before+1))
	entry := func(tag, v uint16) {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, tag), 3), 1)
		b = order.AppendUint16(order.AppendUint16(b, v), 0)
	}
	for i := range before {
		entry(uint16(256+i), 9)
	}
	entry(274, value)
	return b
}

// The orientation is read in both byte orders; other values, and data cut off, mean upright.
func TestOrientation(t *testing.T) {
	jpeg := imagetest.Corpus(t)["pil-rgb.jpg"]
	with := func(exif []byte) []byte {
		segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xd8, 0xff, 0xe1}, uint16(len(exif)+8))
		return slices.Concat(segment, []byte("Exif\x00\x00"), exif, jpeg[2:])
	}
	for name, c := range map[string]struct {
		exif []byte
		want int
	}{
		"little":  {exif(binary.LittleEndian, 0, 6), 6},
		"big":     {exif(binary.BigEndian, 3, 8), 8},
		"nine":    {exif(binary.BigEndian, 0, 9), 1},
		"zero":    {exif(binary.BigEndian, 0, 0), 1},
		"cut off": {exif(binary.BigEndian, 3, 8)[:40], 1},
		"far":     {[]byte("II*\x00\xff\xff\xff\xff"), 1},
		"short":   {[]byte("II"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if h, err := codec.ReadHeader(with(c.exif)); err != nil || h.Orientation != c.want {
				t.Errorf("got %d, %v, want %d", h.Orientation, err, c.want)
			}
		})
	}
}

// A rectangle outside of the picture is refused; one that reaches out of it is cut.
func TestRectangles(t *testing.T) {
	data := imagetest.Corpus(t)["pil-rgb.png"]
	h, err := codec.ReadHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	var d codec.Go
	if _, err := d.Decode(data, h, image.Rect(67, 0, 70, 3), 1); err == nil || !strings.Contains(err.Error(), "is outside of its 67 x 45 pixels") {
		t.Errorf("outside: %v", err)
	}
	if p, err := d.Decode(data, h, image.Rect(60, -3, 70, 3), 1); err != nil || p.Rect != image.Rect(60, 0, 67, 3) {
		t.Errorf("across the edge: %v, %v", p.Rect, err)
	}
}

func FuzzGo(f *testing.F) {
	files := imagetest.Encoded(imagetest.Corpus(f))
	maps.Copy(files, imagetest.Encoded(imagetest.Formats(f)))
	deep, _ := deepFiles(f)
	maps.Copy(files, deep)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f.Add(files[name], false)
		f.Add(files[name], true)
	}
	f.Fuzz(func(t *testing.T, data []byte, blend bool) {
		var d codec.Go
		if blend {
			d.Blend([3]uint16{65535, 7, 9999})
			d.KeepDepth()
		}
		_ = decode(t, &d, data)
	})
}

// What a WebP says of itself is checked before x/image/webp allocates memory by it.
func TestWebPBombs(t *testing.T) {
	corpus := imagetest.Corpus(t)
	lossy, alpha := corpus["pil-lossy-67x45.webp"], corpus["pil-alpha.webp"]
	picture := strings.Index(string(alpha), "VP8 ")
	change := func(data []byte, at int, b ...byte) []byte {
		data = slices.Clone(data)
		copy(data[at:], b)
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"chunk":     {change(lossy, 16, 0, 0, 0, 7), "WebP: it is truncated: the chunk \"VP8 \" has"},
		"partition": {change(lossy, 21, 0xff, 0xff), "WebP: the start of its picture is damaged"},
		"canvas":    {change(alpha, picture+14, 0xff, 0x3f, 0xff, 0x3f), "WebP: its canvas is (67,45), its picture (16383,16383)"},
		"nothing":   {[]byte("RIFF\x08\x00\x00\x00WEBPVP8X"), "WebP: it has no picture"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := codec.ReadHeader(c.data); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
