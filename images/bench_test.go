package images

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/images/codec"
)

// BenchmarkApply reports the CPU time of a file of the directory $SHARDFEED_IMAGES, by decoder
// and by what is done: alone the decoding, or the training transform of ImageNet.
func BenchmarkApply(b *testing.B) {
	names, _ := filepath.Glob(filepath.Join(os.Getenv("SHARDFEED_IMAGES"), "*"))
	if os.Getenv("SHARDFEED_IMAGES") == "" || len(names) == 0 {
		b.Skip("SHARDFEED_IMAGES names no directory of images")
	}
	slices.Sort(names)
	var files [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, data)
	}
	all := map[string]Options{"uint8": {Crop: CropRandomResized, Flip: 0.5}, "float32": ImageNetTrain(), "eval": ImageNetEval(), "jitter": ImageNetTrain(), "bicubic": ImageNetTrain()}
	o := all["jitter"]
	o.ColorJitter = Jitter{Brightness: Range{0.6, 1.4}, Contrast: Range{0.6, 1.4}, Saturation: Range{0.6, 1.4}, Hue: Range{-0.1, 0.1}}
	all["jitter"] = o
	o = all["bicubic"]
	o.Interpolation = Bicubic
	all["bicubic"] = o
	for name, open := range decoders(b) {
		b.Run(fmt.Sprint(name, "/decode"), func(b *testing.B) {
			d := open()
			defer d.Close()
			measure(b, func(i int) error {
				data := files[i%len(files)]
				h, err := codec.ReadHeader(data)
				if err == nil {
					_, err = d.Decode(data, h, h.Bounds(), 1)
				}
				return err
			})
		})
		for kind, o := range all {
			b.Run(fmt.Sprint(name, "/", kind), func(b *testing.B) {
				a := newAugmenter(b, o, open())
				dst := make([]byte, o.Bytes())
				measure(b, func(i int) error { return a.Apply(dst, files[i%len(files)], uint64(i)) })
			})
		}
	}
}

// measure reports CPU time, which other processes hardly change.
func measure(b *testing.B, do func(i int) error) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before, i := used(), 0
	for ; b.Loop(); i++ {
		if err := do(i); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((used()-before).Microseconds())/1e3/float64(i), "cpu-ms/image")
}
