package images

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/images/augment"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
	"github.com/shardfeed/shardfeed/internal/image/paint"
	"github.com/shardfeed/shardfeed/internal/image/resize"
)

// byTask is what a device does: it decodes a file at full size, and has only the task and the
// options that all rows share.
func byTask(t testing.TB, o Options, d codec.Decoder, data []byte, k *Task) []byte {
	t.Helper()
	o = o.withDefaults()
	up := uprightOf(t, d, data, int(k.Orientation))
	span := func(axis, most int) resize.Span {
		s := resize.Whole(int(k.Box[axis]), int(k.Box[axis+2]-k.Box[axis]), int(k.Size[axis]))
		s.From, s.To = max(0, -int(k.At[axis])), min(int(k.Size[axis]), most-int(k.At[axis]))
		return s
	}
	x, y := span(0, o.Width), span(1, o.Height)
	var pixels resize.Row
	new(resize.Resizer).Resize(up, x, y, o.filter(), func(_ int, row resize.Row) { pixels = append(pixels, row...) })
	if k.Factor != ([4]float32{}) {
		var order [4]int
		var factor [4]float64
		for i, step := range k.Order {
			order[i], factor[i] = int(step), float64(k.Factor[i])
		}
		c := paint.Canvas{Pixels: pixels, Width: x.To - x.From}
		c.Apply(augment.Jitter(nil, order, factor))
		pixels = c.Pixels
	}
	dst, w := make([]byte, o.Bytes()), newWriter(o, 8)
	if err := w.to(dst, k.Flip != 0); err != nil {
		t.Fatal(err)
	}
	for row := range o.Height {
		line := o.plain(o.pixel(o.Fill, 8))
		if at := row - max(0, int(k.At[1])); at >= 0 && at < y.To-y.From {
			n := x.To - x.From
			copy(line[max(0, int(k.At[0])):], pixels[at*n:][:n])
		}
		w.row(row, line)
	}
	return dst
}

// A device that knows a row's task makes the image of the CPU.
func TestTaskMakesTheImage(t *testing.T) {
	corpus := imagetest.Corpus(t)
	for kind, o := range map[string]Options{
		"random":    {Height: 24, Width: 20, Crop: CropRandomResized, Flip: 0.5, Interpolation: Bicubic, ColorJitter: Jitter{Brightness: Range{0.5, 1.5}, Contrast: Range{0.5, 1.5}, Hue: Range{-0.25, 0.25}}},
		"center":    {Height: 20, Resize: 31, Crop: CropCenter},
		"none":      {Height: 20, Width: 33, DType: Float32, Layout: HWC, Mean: [3]float32{0.5, 0.4, 0.3}},
		"letterbox": {Height: 20, Width: 50, Crop: CropLetterbox, Fill: [3]int{114, 2, 255}, Flip: 0.5},
		"scale":     {Height: 40, Width: 30, Crop: CropScaleJitter, Fill: [3]int{1, 2, 3}, Flip: 0.5, DType: BFloat16},
		"stored":    {Height: 20, IgnoreOrientation: true},
	} {
		for _, name := range []string{"pil-420-baseline-90x70.jpg", "cv2-440.jpg", "exif-1.jpg", "exif-2.jpg", "exif-3.jpg", "exif-4.jpg", "exif-5.jpg", "exif-6.jpg", "exif-7.jpg", "exif-8.jpg"} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				o.ReducingGap = -1
				a := newAugmenter(t, o, new(codec.Go))
				for seed := range uint64(8) {
					k, ok := o.Task(corpus[name], seed)
					if !ok || k.Kind != TaskJPEG || int(k.Bytes) != len(corpus[name]) {
						t.Fatalf("seed %d: got %+v, %v", seed, k, ok)
					}
					got, want := byTask(t, o, new(codec.Go), corpus[name], &k), apply(t, a, corpus[name], seed)
					if o.ColorJitter.on() { // whose factors are rounded
						if most, _ := imagetest.Differ(t, got, want); most > 1 {
							t.Fatalf("seed %d: values differ by %d", seed, most)
						}
					} else if !bytes.Equal(got, want) {
						t.Fatalf("seed %d differs", seed)
					}
				}
			})
		}
	}
}

// Devices get the files that they can decode, and no others.
func TestTaskOfFiles(t *testing.T) {
	corpus := imagetest.Corpus(t)
	baseline := corpus["pil-420-baseline-90x70.jpg"]
	at := bytes.Index(baseline, []byte{0xff, 0xc0}) // the frame
	frame := func(change func(frame []byte)) []byte {
		data := bytes.Clone(baseline)
		change(data[at+4:])
		return data
	}
	adobe := func(transform byte) []byte {
		return slices.Insert(bytes.Clone(baseline), 2, append([]byte{0xff, 0xee, 0, 14}, "Adobe\x00\x64\x00\x00\x00\x00"+string(rune(transform))...)...)
	}
	for _, c := range []struct {
		name string
		data []byte
		o    Options
		luma int32 // 0: not for a device
	}{
		{"4:2:0", baseline, Options{}, 0x22},
		{"4:4:0", corpus["cv2-440.jpg"], Options{}, 0x12},
		{"adobe's YCbCr", adobe(1), Options{}, 0x22},
		{"adobe's RGB", adobe(0), Options{}, 0},
		{"RGB by its names", frame(func(f []byte) { f[6], f[9], f[12] = 'R', 'G', 'B' }), Options{}, 0},
		{"a sampling that is rare", frame(func(f []byte) { f[7] = 0x44 }), Options{}, 0},
		{"sampled chroma", frame(func(f []byte) { f[10] = 0x21 }), Options{}, 0},
		{"two scans", slices.Insert(bytes.Clone(baseline), len(baseline)-2, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0), Options{}, 0},
		{"truncated", baseline[:len(baseline)-2], Options{}, 0},
		{"beyond a limit", baseline, Options{MaxPixels: 6299}, 0},
		{"of another size", baseline, Options{Height: 4, Width: 4, Exact: true}, 0},
		{"progressive", corpus["pil-422-progressive-67x45.jpg"], Options{}, 0},
		{"CMYK", corpus["pil-cmyk.jpg"], Options{}, 0},
		{"PNG", corpus["pil-rgb.png"], Options{}, 0},
		{"no file", nil, Options{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := c.o.Task(c.data, 1)
			if ok != (c.luma != 0) || got.Luma != c.luma {
				t.Errorf("got luma %#x, %v, want %#x", got.Luma, ok, c.luma)
			}
			if !ok && got != (Task{}) {
				t.Errorf("a file that is not for a device has %+v", got)
			}
		})
	}
}

func TestNoTasks(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"default", Options{}, ""},
		{"train", ImageNetTrain(), ""},
		{"bicubic", Options{Interpolation: Bicubic, Channels: 3, Null: Color{Given: true}}, ""},
		{"one channel", Options{Channels: 1}, "it has 1 channel"},
		{"alpha", Options{Channels: 4}, "it has 4 channels"},
		{"nearest", Options{Interpolation: NearestExact}, "its filter is nearest-exact"},
		{"16 bits", Options{DType: Uint16}, "its elements are uint16"},
		{"views", Options{Views: 2}, "it has several views"},
		{"steps", Options{Augment: augment.Steps{augment.RandomGrayscale{P: 0.5}}}, "it has steps of augment"},
		{"another column's", Options{Of: "img"}, "its files are another column's"},
		{"array", Options{Array: &Array{Shape: []int{2}, DType: "int8"}}, "it has arrays"},
		{"declared", Options{Declared: true}, "it has options that devices do not know"},
	} {
		if got := c.o.NoTasks(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Trainers read tasks as 24 numbers.
func TestTaskLayout(t *testing.T) {
	var k Task
	for name, at := range map[string][2]uintptr{
		"all": {unsafe.Sizeof(k), 24}, "width": {unsafe.Offsetof(k.Width), 1}, "orientation": {unsafe.Offsetof(k.Orientation), 3}, "box": {unsafe.Offsetof(k.Box), 4},
		"size": {unsafe.Offsetof(k.Size), 8}, "at": {unsafe.Offsetof(k.At), 10}, "flip": {unsafe.Offsetof(k.Flip), 12}, "order": {unsafe.Offsetof(k.Order), 13},
		"factor": {unsafe.Offsetof(k.Factor), 17}, "components": {unsafe.Offsetof(k.Components), 21}, "luma": {unsafe.Offsetof(k.Luma), 22}, "bytes": {unsafe.Offsetof(k.Bytes), 23},
	} {
		if at[0] != 4*at[1] {
			t.Errorf("%s: got byte %d, want %d", name, at[0], 4*at[1])
		}
	}
}
