package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

const cpu = "../python/tests/fakecudart/kernels.c" // runs a kernel on a CPU

// kernels is the program of the kernels that make images on a GPU, built for a CPU.
type kernels struct {
	in  io.WriteCloser
	out io.Reader
}

func newKernels(t *testing.T) *kernels {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("CI=true and there is no C compiler for the kernels:", err)
	}
	if err != nil {
		t.Skip("SKIPPED: no C compiler for the kernels:", err)
	}
	text, err := filepath.Abs("../python/src/shardfeed/torch/_jpeg/kernel.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{text, cpu} { // go test repeats a result while the files that it has read are the same
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "kernels")
	build := exec.Command(cc, "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-DMAIN", fmt.Sprintf("-DKERNEL_TEXT=%q", text),
		cpu, "-o", program, "-lm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &kernels{in, out}
}

const pitch = 32 // a decoded line's bytes are a multiple of it

// planes are three planes of RGB pixels.
func planes(p codec.Pixels) []byte {
	w, h := p.Rect.Dx(), p.Rect.Dy()
	line := (w + pitch - 1) / pitch * pitch
	o := make([]byte, 3*line*h)
	for i, v := range p.RGB {
		o[i%3*line*h+i/3/w*line+i/3%w] = v
	}
	return o
}

// numbers is the row of an image, as the engine sends it.
func numbers(h codec.Header, p Params, jittered bool) (row [24]int32) {
	flip := 0
	if p.Flip {
		flip = 1
	}
	for i, v := range []int{
		1, h.Width, h.Height, h.Orientation, p.Box.Min.X, p.Box.Min.Y, p.Box.Max.X, p.Box.Max.Y,
		p.Size.X, p.Size.Y, p.At.X, p.At.Y, flip,
	} {
		row[i] = int32(v)
	}
	if jittered {
		for i := range 4 {
			row[13+i] = int32(p.Order[i])
			row[17+i] = int32(math.Float32bits(float32(p.Factor[i])))
		}
	}
	return row
}

// apply makes the tensor of an image.
func (k *kernels) apply(t *testing.T, o Options, h codec.Header, p Params, pixels codec.Pixels, table []uint32) []byte {
	t.Helper()
	o = o.withDefaults()
	bit := func(b bool) int32 {
		if b {
			return 1
		}
		return 0
	}
	decoded := planes(pixels)
	fill := o.Fill[0] | o.Fill[1]<<8 | o.Fill[2]<<16
	jittered := o.ColorJitter.on()
	var job bytes.Buffer
	for _, v := range []any{
		int32(1), bit(jittered), int32(o.Height), int32(o.Width), int32(o.DType.size()), bit(o.Layout == HWC), bit(o.Interpolation == Bicubic), int32(fill),
		numbers(h, p, jittered), table, int64(len(decoded)), decoded,
	} {
		if err := binary.Write(&job, binary.NativeEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.in.Write(job.Bytes()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, o.Bytes())
	if _, err := io.ReadFull(k.out, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// tableOf returns the elements of an image for each value of each channel.
func tableOf(t *testing.T, o Options) []uint32 {
	t.Helper()
	var table []uint32
	switch w := newWriter(o.withDefaults(), 8).(type) {
	case *samples:
		for i := range 3 << 8 {
			table = append(table, uint32(i%(1<<8)))
		}
	case *tensor[uint8, [1 << 8]uint8]:
		table = flat(w.table)
	case *tensor[uint16, [1 << 8]uint16]:
		table = flat(w.table)
	case *tensor[uint32, [1 << 8]uint32]:
		table = flat(w.table)
	}
	return table
}

func flat[T element](table [3][1 << 8]T) (o []uint32) {
	for _, channel := range table {
		for _, v := range channel {
			o = append(o, uint32(v))
		}
	}
	return o
}

var kernelOptions = map[string]Options{
	"all":          {Height: 30, Width: 41},
	"larger":       {Height: 150, Width: 140},
	"random":       {Height: 64, Crop: CropRandomResized, Flip: 0.5},
	"cubic":        {Height: 64, Crop: CropRandomResized, Flip: 0.5, Interpolation: Bicubic},
	"cubic larger": {Height: 133, Width: 122, Interpolation: Bicubic},
	"center":       {Height: 40, Width: 33, Crop: CropCenter, Resize: 50, Layout: HWC},
	"letterbox":    {Height: 50, Width: 70, Crop: CropLetterbox, Fill: [3]int{114, 3, 250}, Flip: 0.5},
	"scale":        {Height: 50, Width: 70, Crop: CropScaleJitter, Fill: [3]int{1, 2, 3}, Flip: 0.5, Interpolation: Bicubic, Layout: HWC},
	"float32":      {Height: 32, Crop: CropRandomResized, DType: Float32, Mean: imageNetMean, Std: imageNetStd},
	"float16":      {Height: 32, Crop: CropLetterbox, DType: Float16, Mean: imageNetMean, Std: imageNetStd, Layout: HWC},
	"bfloat16":     {Height: 32, Crop: CropRandomResized, DType: BFloat16, Flip: 1},
	"as stored":    {Height: 32, Width: 50, Crop: CropRandomResized, IgnoreOrientation: true},
	"jitter": {
		Height: 70, Width: 90, Flip: 0.5, // the size of the photo, so that the resize rounds nothing
		ColorJitter: Jitter{Brightness: Range{0.6, 1.4}, Contrast: Range{0.6, 1.4}, Saturation: Range{0.6, 1.4}, Hue: Range{-0.5, 0.5}},
	},
	"jitter in a letterbox": {
		Height: 70, Width: 120, Crop: CropLetterbox, Fill: [3]int{9, 99, 199}, Flip: 0.5, Layout: HWC,
		ColorJitter: Jitter{Contrast: Range{0.2, 1.9}, Hue: Range{-0.1, 0.1}},
	},
}

// The kernels for a GPU make the same pixels of decoded pictures as the CPU, within 1 of 255.
func TestKernels(t *testing.T) {
	k := newKernels(t)
	corpus := imagetest.Corpus(t)
	encoded := imagetest.Encoded(corpus)
	files := map[string][]byte{"photo.png": corpus["photo.png"]}
	for _, name := range slices.Sorted(maps.Keys(encoded)) {
		h, err := codec.ReadHeader(encoded[name])
		if err == nil && h.Format == codec.JPEG && h.Components != 4 && (h.Orientation != 1 || len(files) < 8 && strings.HasPrefix(name, "pil-4")) {
			files[name] = encoded[name]
		}
	}
	if len(files) < 8 {
		t.Fatalf("%d files", len(files))
	}
	for name, o := range kernelOptions {
		t.Run(name, func(t *testing.T) {
			o.ReducingGap = -1 // nvJPEG decodes all of a picture
			var d codec.Go
			a, table := newAugmenter(t, o, &d), tableOf(t, o)
			values, wrong, worst := 0, 0, 0
			for file, data := range files {
				h, err := codec.ReadHeader(data)
				if err != nil {
					t.Fatal(err)
				}
				if o.IgnoreOrientation {
					h.Orientation = 1
				}
				var whole codec.Go
				pixels, err := whole.Decode(data, h, image.Rect(0, 0, h.Width, h.Height), 1)
				if err != nil {
					t.Fatal(file, err)
				}
				size := o.Size(h)
				most := 1
				switch {
				case o.ColorJitter.on():
					most = 12 // a step multiplies the difference of the one before
				case o.Interpolation == Bicubic:
					most = 2 // some weights are above 1
				}
				for seed := range uint64(8) {
					want := apply(t, a, data, seed)
					got := k.apply(t, o, h, o.Draw(size.X, size.Y, seed), pixels, table)
					n, bad, far := compare(got, want, table, o.withDefaults())
					values, wrong, worst = values+n, wrong+bad, max(worst, far)
					if far > most {
						t.Errorf("%s, seed %d, %+v: a value differs by %d", file, seed, o.Draw(size.X, size.Y, seed), far)
					}
				}
			}
			t.Logf("%d values, %.4f%% differ, by at most %d", values, 100*float64(wrong)/float64(values), worst)
			if 40*wrong > values {
				t.Errorf("%d of %d values differ", wrong, values)
			}
		})
	}
}

// compare compares tensors by the values that their elements are made of.
func compare(got, want []byte, table []uint32, o Options) (values, wrong, most int) {
	of := [3]map[uint32]int{}
	for c := range of {
		of[c] = map[uint32]int{}
		for v, bits := range table[256*c:][:256] {
			of[c][bits] = v
		}
	}
	size := o.DType.size()
	element := func(b []byte, i int) uint32 {
		var v [4]byte
		copy(v[:], b[i*size:][:size])
		return binary.NativeEndian.Uint32(v[:])
	}
	values = len(want) / size
	for i := range values {
		c := i / (o.Height * o.Width)
		if o.Layout == HWC {
			c = i % 3
		}
		g, ok := of[c][element(got, i)]
		if d := g - of[c][element(want, i)]; !ok {
			most, wrong = 255, wrong+1
		} else if d != 0 {
			wrong, most = wrong+1, max(most, d, -d)
		}
	}
	return values, wrong, most
}
