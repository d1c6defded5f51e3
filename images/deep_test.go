package images

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/racetest"
)

// deepCases are the draws of scaled.png in deep.zip.
func deepCases(t *testing.T, files map[string][]byte) (all []pairCase) {
	t.Helper()
	if err := json.Unmarshal(files["cases.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("%d cases", len(all))
	}
	return all
}

// Pictures of 16 bits in every type, layout and number of channels are torchvision's of floats:
// nearest filters give the same samples, and the others differ by at most 1 of 65,535.
func TestDeepIsTorchvisions(t *testing.T) {
	files := imagetest.Deep(t)
	for i, c := range deepCases(t, files) {
		for _, dtype := range []DType{Uint16, Float32, Float16, BFloat16} {
			for _, layout := range []Layout{CHW, HWC} {
				for _, channels := range []int{3, 4} {
					if channels == 4 && c.Options.Interpolation.nearest() {
						continue
					}
					t.Run(fmt.Sprint(i, " ", dtype, " ", layout, " ", channels), func(t *testing.T) {
						o := c.Options
						o.DType, o.Layout, o.Channels = dtype, layout, channels
						within := 1.001
						if o.Interpolation.nearest() {
							within = 0.01
						}
						if dtype != Uint16 { // whose fill is of 255
							for k := range o.Fill {
								o.Fill[k] /= 257
							}
							within += map[DType]float64{Float32: 0.01, Float16: 16.1, BFloat16: 128.1}[dtype]
						}
						got := apply(t, newAugmenter(t, o, new(codec.Go)), files["scaled.png"], c.Seed)
						want := files[fmt.Sprintf("case/%d", i)]
						o = o.withDefaults()
						for k := range o.Height * o.Width * channels {
							at, plane := k, o.Height*o.Width
							if layout == HWC {
								at = k%plane*channels + k/plane
							}
							exact := value(want, k, Uint16)
							v := value(got, at, dtype)
							if dtype != Uint16 {
								v *= 65535
							}
							if math.Abs(v-exact) > within {
								t.Fatalf("value %d is %v, want %v", k, v, exact)
							}
						}
					})
				}
			}
		}
	}
}

// A file of 8 bits is in uint16 257 times what it is in uint8: white is 65,535. Masks are as they
// are stored.
func TestUint16OfBytes(t *testing.T) {
	corpus := imagetest.Corpus(t)
	maps.Copy(corpus, imagetest.Formats(t))
	for kind, o := range map[string]Options{
		"crop":      {Height: 24, Width: 20, Crop: CropRandomResized, Flip: 0.5, Interpolation: Bicubic},
		"letterbox": {Height: 40, Width: 90, Crop: CropLetterbox, Fill: [3]int{9, 99, 255}},
		"nearest":   {Height: 24, Width: 20, Interpolation: Nearest},
		"alpha":     {Height: 40, Width: 90, Crop: CropLetterbox, Fill: [3]int{9, 99, 255}, Channels: 4},
		"under":     {Height: 24, Width: 20, Background: Color{Given: true, Channels: [3]int{255, 3, 77}}},
		"gray":      {Height: 24, Width: 20, Channels: 1},
		"mask":      {Height: 24, Width: 20, Channels: 1, Interpolation: Nearest, Fill: [3]int{255}, Crop: CropLetterbox},
	} {
		for _, name := range []string{"pil-gray.jpg", "gray-raw.tiff", "pil-rgba.png", "exif-6.jpg"} {
			if mono := name == "pil-gray.jpg" || name == "gray-raw.tiff"; o.Channels == 1 && !mono {
				continue
			}
			t.Run(kind+" "+name, func(t *testing.T) {
				wide := o
				wide.DType = Uint16
				scale := 257
				if kind == "mask" {
					scale = 1
				}
				for i := range wide.Fill {
					wide.Fill[i] *= scale
					wide.Background.Channels[i] *= scale
				}
				narrow, a := newAugmenter(t, o, new(codec.Go)), newAugmenter(t, wide, new(codec.Go))
				for seed := range uint64(3) {
					want, got := apply(t, narrow, corpus[name], seed), apply(t, a, corpus[name], seed)
					for i, v := range want {
						if w := int(value(got, i, Uint16)); w != scale*int(v) {
							t.Fatalf("seed %d: value %d is %d, want %d x %d", seed, i, w, scale, v)
						}
					}
				}
			})
		}
	}
}

// Options of one file share its decoding with 8 and with 16 bits, and have what each has alone.
func TestSharedDeep(t *testing.T) {
	file := imagetest.Deep(t)["cv2-rgb.png"]
	h, err := codec.ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	all := []Options{{Height: 20}, {Height: 20, DType: Float32}, {Height: 30, DType: Uint16, Flip: 0.5, Crop: CropRandomResized}, {Height: 9, DType: Float16, ColorJitter: Jitter{Brightness: Range{0.5, 0.6}}}}
	s, err := NewShared(all, new(codec.Go))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Expect(file, h, func(yield func(i int, seed uint64)) {
		for i := range all {
			yield(i, 7)
		}
	})
	for i, o := range all {
		got := make([]byte, o.Bytes())
		if err := s.Augmenter(i).ApplyTo(got, file, h, 7); err != nil {
			t.Fatal(err)
		}
		if want := apply(t, newAugmenter(t, o, new(codec.Go)), file, 7); !bytes.Equal(got, want) {
			t.Errorf("options %d differ", i)
		}
	}
}

// Jitter and steps change the upper bytes, and floats of them are of 255.
func TestChangesOfColorsHaveBytes(t *testing.T) {
	file := imagetest.Deep(t)["cv2-rgb.png"]
	for kind, o := range map[string]Options{
		"jitter": {Height: 20, ColorJitter: Jitter{Hue: Range{0.1, 0.2}}},
		"steps":  {Height: 20, Augment: augment.Steps{augment.RandomGrayscale{}}},
	} {
		narrow := apply(t, newAugmenter(t, o, new(codec.Go)), file, 1)
		o.DType = Float32
		got := apply(t, newAugmenter(t, o, new(codec.Go)), file, 1)
		for i, want := range narrow {
			if v := value(got, i, Float32); math.Abs(255*v-float64(want)) > 1e-3 {
				t.Fatalf("%s: value %d is %v, want %d", kind, i, v, want)
			}
		}
	}
}

// Colors around masks of 16 bits and of rows without a file are of 255 in floats, and of 65,535 in
// uint16.
func TestColorsOfDeep(t *testing.T) {
	files := imagetest.Deep(t)
	for name, c := range map[string]struct {
		o    Options
		want float64
	}{
		"mask of floats": {Options{Channels: 1, Interpolation: Nearest, DType: Float32, Fill: [3]int{255}}, 1},
		"mask":           {Options{Channels: 1, Interpolation: Nearest, DType: Uint16, Fill: [3]int{777}}, 777},
		"floats":         {Options{DType: Float32, Fill: [3]int{51, 51, 51}}, 0.2},
		"colors":         {Options{DType: Uint16, Fill: [3]int{777, 777, 777}}, 777},
		"alpha":          {Options{DType: Uint16, Fill: [3]int{777, 777, 777}, Channels: 4}, 777},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.o
			o.Height, o.Width, o.Crop = 10, 60, CropLetterbox
			o.Null = Color{Given: true, Channels: o.Fill}
			a := newAugmenter(t, o, new(codec.Go))
			got := apply(t, a, files["cv2-gray.png"], 0)
			if v := value(got, 0, o.DType); math.Abs(v-c.want) > 1e-6 {
				t.Errorf("around it is %v, want %v", v, c.want)
			}
			if v := value(got, 30, o.DType); math.Abs(v-c.want) < 1e-6 {
				t.Error("the picture has the color around it")
			}
			if err := a.Blank(got); err != nil {
				t.Fatal(err)
			}
			for i := range 600 {
				if v := value(got, i, o.DType); math.Abs(v-c.want) > 1e-6 {
					t.Fatalf("without a file it is %v, want %v", v, c.want)
				}
			}
			if v := value(got, len(got)/o.DType.size()-1, o.DType); o.Channels == 4 && v != 65535 {
				t.Errorf("its alpha is %v", v)
			}
		})
	}
}

// Of a picture of 16 bits in any orientation the same pixels are shown as of its 8 bits.
func TestDeepUpright(t *testing.T) {
	data := imagetest.Deep(t)["cv2-rgb.png"]
	for orientation := range byte(8) {
		exif := []byte("\x00\x00\x00\x16eXIfII*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00?\x00\x00\x00")
		exif[26] = orientation + 1
		exif = binary.BigEndian.AppendUint32(exif, crc32.ChecksumIEEE(exif[4:]))
		file := slices.Concat(data[:33], exif, data[33:])
		for _, filter := range []Interpolation{Bilinear, Nearest} {
			o := Options{Height: 31, Width: 40, Interpolation: filter, Crop: CropRandomResized}
			narrow := apply(t, newAugmenter(t, o, new(codec.Go)), file, 3)
			o.DType = Uint16
			wide := apply(t, newAugmenter(t, o, new(codec.Go)), file, 3)
			for i, v := range narrow {
				if got := value(wide, i, Uint16); math.Abs(got/256-0.5-float64(v)) > 1.5 {
					t.Fatalf("orientation %d, %s: value %d is %v, of the upper bytes %d", orientation+1, filter, i, got, v)
				}
			}
		}
	}
}

// An augmenter of 16 bits takes no memory of its own for a picture of a size that it had before.
func TestDeepAllocations(t *testing.T) {
	file := imagetest.Deep(t)["cv2-rgba.png"]
	h, err := codec.ReadHeader(file)
	if err != nil {
		t.Fatal(err)
	}
	d := new(codec.Go)
	d.KeepAlpha()
	d.KeepDepth()
	decoding := testing.AllocsPerRun(20, func() {
		if _, err := d.Decode(file, h, image.Rect(0, 0, h.Width, h.Height), 1); err != nil {
			t.Fatal(err)
		}
	})
	for _, o := range []Options{{Height: 20, DType: Uint16, Channels: 4}, {Height: 20, DType: Float32, Interpolation: Bicubic}} {
		a := newAugmenter(t, o, new(codec.Go))
		dst := make([]byte, o.Bytes())
		own := testing.AllocsPerRun(20, func() {
			if err := a.Apply(dst, file, 0); err != nil {
				t.Fatal(err)
			}
		})
		if own > decoding+4 { // functions
			t.Errorf("%v allocations, and %v of the decoder", own, decoding)
		}
	}
}

// An augmenter takes at most the memory that it predicts for the first picture of 16 bits, which is
// more than for its upper bytes.
func TestMemoryOfDeep(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector allocates too")
	}
	m := image.NewNRGBA64(image.Rect(0, 0, 400, 300))
	for i := range m.Pix {
		m.Pix[i] = byte(i * 7)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	h, err := codec.ReadHeader(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	least := newAugmenter(t, Options{}, new(codec.Go)).Memory(h)
	for i, o := range []Options{
		{Height: 200, DType: Uint16, Channels: 4},
		{Height: 100, DType: Float32, Channels: 4, Interpolation: Bicubic, Layout: HWC},
		{Height: 100, DType: BFloat16},
		{Height: 400, DType: Uint16, Crop: CropLetterbox},
		{Height: 9, DType: Uint16, Interpolation: Nearest},
	} {
		for _, h.Orientation = range []int{1, 6} {
			took, most := int64(math.MaxInt64), int64(0)
			for range 3 { // the least, as other goroutines allocate too
				a := newAugmenter(t, o, new(codec.Go))
				dst := make([]byte, o.Bytes())
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := a.ApplyTo(dst, file.Bytes(), h, 1); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				took, most = min(took, int64(after.TotalAlloc-before.TotalAlloc)), a.Memory(h)
			}
			if took > most || most < least {
				t.Errorf("options %d, orientation %d took %d bytes, predicted were %d, and %d of 8 bits", i, h.Orientation, took, most, least)
			}
		}
	}
}

// FuzzDeep makes tensors of files of any origin, with every type, filter, crop and number of
// channels.
func FuzzDeep(f *testing.F) {
	files := imagetest.Deep(f)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if _, encoded := files["want/"+name]; encoded {
			f.Add(files[name], uint16(i*37))
		}
	}
	pick := func(kind *uint16, n int) int {
		v := int(*kind) % n
		*kind /= uint16(n)
		return v
	}
	f.Fuzz(func(t *testing.T, data []byte, kind uint16) {
		o := Options{
			DType:    []DType{Uint16, Float32, BFloat16, Uint8}[pick(&kind, 4)],
			Channels: []int{3, 4, 1}[pick(&kind, 3)], Layout: []Layout{CHW, HWC}[pick(&kind, 2)],
			Crop:          []Crop{CropNone, CropRandomResized, CropLetterbox, CropCenter, CropScaleJitter}[pick(&kind, 5)],
			Interpolation: []Interpolation{Bilinear, Bicubic, Nearest, NearestExact}[pick(&kind, 4)],
			Background:    Color{Given: pick(&kind, 2) == 1, Channels: [3]int{255, 9, 0}},
			Height:        17, Width: 23, Flip: 0.5, MaxPixels: 1 << 16,
		}
		a, err := New(o, new(codec.Go))
		if err != nil { // they do not go together
			return
		}
		err = a.Apply(make([]byte, a.options.Bytes()), data, uint64(kind))
		if bad := new(codec.Error); err != nil && !errors.As(err, &bad) || err != nil && strings.Contains(err.Error(), "bug") {
			t.Error(err)
		}
	})
}
