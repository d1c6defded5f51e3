package images

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// A pairCase is a draw of the picture in pairs.zip.
type pairCase struct {
	Seed    uint64
	Options Options
}

func pairCases(t *testing.T, files map[string][]byte) []pairCase {
	t.Helper()
	var all struct{ Cases []pairCase }
	if err := json.Unmarshal(files["cases.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 22 {
		t.Fatalf("%d cases", len(all.Cases))
	}
	return all.Cases
}

// plain are the samples of a PNG with one channel.
func plain(t *testing.T, file []byte) []byte {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	switch m := m.(type) {
	case *image.Gray:
		return m.Pix
	case *image.Gray16:
		pix := bytes.Clone(m.Pix)
		for i := 0; i < len(pix); i += 2 {
			binary.NativeEndian.PutUint16(pix[i:], binary.BigEndian.Uint16(pix[i:]))
		}
		return pix
	}
	t.Fatalf("it is a %T", m)
	return nil
}

// Masks that share a picture's draw are byte for byte what torchvision's v2 functions make of them
// as tv_tensors, with the crop and the flip of the seed: gray, palettes and 16 bits.
func TestMasksAreTorchvisions(t *testing.T) {
	files := imagetest.Pairs(t)
	for i, c := range pairCases(t, files) {
		for name, want := range map[string]string{"gray": "gray", "palette": "palette", "palette4": "palette4", "deep": "deep", "exact": "exact"} {
			file, ok := files[fmt.Sprintf("%d/%s.png", i, want)]
			if !ok { // torchvision's center crop has no exact case
				continue
			}
			t.Run(fmt.Sprint(i, " ", name), func(t *testing.T) {
				o := Options{Like: "image", Channels: 1, Interpolation: Nearest}
				if c.Options.Fill != [3]int{} {
					o.Fill[0] = 255
				}
				from := name
				switch name {
				case "deep":
					o.DType = Uint16
				case "exact":
					o.Interpolation, from = NearestExact, "gray"
				}
				if err := o.Validate(); err != nil {
					t.Fatal(err)
				}
				a := newAugmenter(t, o.Follow(c.Options), new(codec.Go))
				if got := apply(t, a, files[from+".png"], c.Seed); !bytes.Equal(got, plain(t, file)) {
					t.Errorf("it differs")
				}
			})
		}
		t.Run(fmt.Sprint(i, " image"), func(t *testing.T) {
			o := c.Options
			o.Layout = HWC
			want, _ := imagetest.RGB(t, files[fmt.Sprintf("%d/image.png", i)])
			got := apply(t, newAugmenter(t, o, new(codec.Go)), files["image.png"], c.Seed)
			if most, _ := imagetest.Differ(t, got, want); most > 1 {
				t.Errorf("a value differs by %d", most)
			}
		})
	}
}

// Floats of one channel are 0 to 1 of the bits that the picture has, or normalised.
func TestFloatsOfOneChannel(t *testing.T) {
	files := imagetest.Pairs(t)
	for name, c := range map[string]struct {
		file string
		most float32
		o    Options
	}{
		"8 bits":     {"gray", 255, Options{}},
		"16 bits":    {"deep", 65535, Options{}},
		"normalised": {"deep", 65535, Options{Mean: [3]float32{0.5}, Std: [3]float32{0.25, 1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.o
			o.Height, o.Width, o.Channels, o.Interpolation = 45, 67, 1, Nearest
			whole := o
			whole.Mean, whole.Std = [3]float32{}, [3]float32{}
			if whole.DType = Uint8; c.most > 255 {
				whole.DType = Uint16
			}
			values := apply(t, newAugmenter(t, whole, new(codec.Go)), files[c.file+".png"], 0)
			o.DType = Float32
			var got [45 * 67]float32
			if _, err := binary.Decode(apply(t, newAugmenter(t, o, new(codec.Go)), files[c.file+".png"], 0), binary.NativeEndian, &got); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				n := float32(values[i%len(values)])
				if c.most > 255 {
					n = float32(binary.NativeEndian.Uint16(values[2*i:]))
				}
				want := n / c.most
				if c.o.Std[0] != 0 {
					want = (want - c.o.Mean[0]) / c.o.Std[0]
				}
				if v != want {
					t.Fatalf("value %d is %v, want %v", i, v, want)
				}
			}
		})
	}
}

// A nearest filter takes samples of pictures that EXIF turns, and of all three channels.
func TestNearestTurned(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for name, open := range decoders(t) {
		for _, file := range []string{"pil-rgb.jpg", "exif-2.jpg", "exif-3.jpg", "exif-4.jpg", "exif-5.jpg", "exif-6.jpg", "exif-7.jpg", "exif-8.jpg", "pil-gray.jpg"} {
			t.Run(name+" "+file, func(t *testing.T) {
				h, err := codec.ReadHeader(corpus[file])
				if err != nil {
					t.Fatal(err)
				}
				width, height := h.Size()
				o := Options{Height: height, Width: width, Layout: HWC, ReducingGap: -1}
				whole := apply(t, newAugmenter(t, o, open()), corpus[file], 0)
				o.Interpolation = Nearest
				if got := apply(t, newAugmenter(t, o, open()), corpus[file], 0); !bytes.Equal(got, whole) {
					t.Error("at full size it differs from bilinear")
				}
				o.Channels = 1
				a := newAugmenter(t, o, open())
				err = a.Apply(make([]byte, width*height), corpus[file], 0)
				if file == "pil-gray.jpg" {
					got := apply(t, a, corpus[file], 0)
					for i, v := range got {
						if v != whole[3*i] {
							t.Fatalf("gray value %d is %d, want %d", i, v, whole[3*i])
						}
					}
				} else if err == nil || !strings.Contains(err.Error(), "it has 3 channels, and channels is 1") {
					t.Errorf("three channels as one: %v", err)
				}
			})
		}
	}
}

// A picture of 16 bits is refused where it does not fit.
func TestDeepNeedsDType(t *testing.T) {
	a := newAugmenter(t, Options{Height: 8, Channels: 1, Interpolation: Nearest}, new(codec.Go))
	err := a.Apply(make([]byte, 64), imagetest.Pairs(t)["deep.png"], 0)
	if want := "PNG: its samples have 16 bits, and uint8 holds 8; give dtype uint16 or float32"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// View maps boxes of a picture into its result as torchvision does.
func TestViewMapsBoxes(t *testing.T) {
	var all struct {
		Given struct{ Xyxy [][4]float64 }
		Cases []struct {
			pairCase
			Xyxy [][4]float64 `json:"xyxy_clipped"`
		}
	}
	if err := json.Unmarshal(imagetest.Pairs(t)["cases.json"], &all); err != nil {
		t.Fatal(err)
	}
	for i, c := range all.Cases {
		o := c.Options.withDefaults()
		v := o.View(image.Pt(67, 45), c.Seed)
		within := func(at float64, from, to float64, n int) float64 {
			return max(0, min(float64(n), (at-from)*float64(n)/(to-from)))
		}
		for k, b := range all.Given.Xyxy {
			x0, x1 := within(b[0], v[0], v[2], o.Width), within(b[2], v[0], v[2], o.Width)
			got := [4]float64{min(x0, x1), within(b[1], v[1], v[3], o.Height), max(x0, x1), within(b[3], v[1], v[3], o.Height)}
			for at := range got {
				if math.Abs(got[at]-c.Xyxy[k][at]) > 1e-3 {
					t.Fatalf("case %d, box %d is %v, torchvision has %v", i, k, got, c.Xyxy[k])
				}
			}
		}
	}
}
