package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/images/turbo"
)

// A result is the cost of the images.
type result struct {
	Rows          int     `json:"rows"`
	UserSeconds   float64 `json:"user_seconds"`
	SystemSeconds float64 `json:"system_seconds"`
}

func main() {
	dir := flag.String("files", "", "directory of images")
	do := flag.String("do", "float32", "decode, uint8, float32, eval, jitter or bicubic")
	decoder := flag.String("decoder", "turbo", "turbo or go")
	count := flag.Int("count", 1000, "images")
	flag.Parse()
	if err := run(*dir, *do, *decoder, *count); err != nil {
		fmt.Fprintln(os.Stderr, "pixels:", err)
		os.Exit(1)
	}
}

func run(dir, do, decoder string, count int) error {
	// One goroutine works. With one P the scheduler wakes every 20 us to take it from a goroutine
	// that is in C, which costs 5 % of a core.
	runtime.GOMAXPROCS(2)
	files, err := read(dir)
	if err != nil {
		return err
	}
	d, err := open(decoder)
	if err != nil {
		return err
	}
	one, err := work(do, d)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	for i := range min(count, len(files)) { // memory is there afterwards
		if err := one(files[i], 0); err != nil {
			return errors.Join(err, d.Close())
		}
	}
	user, system := cpu()
	for i := range count {
		if err := one(files[i%len(files)], uint64(i)); err != nil {
			return errors.Join(err, d.Close())
		}
	}
	u, s := cpu()
	return errors.Join(json.NewEncoder(os.Stdout).Encode(result{count, u - user, s - system}), d.Close())
}

func read(dir string) (files [][]byte, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no files", dir)
	}
	return files, nil
}

func open(name string) (codec.Decoder, error) {
	if name == "go" {
		return new(codec.Go), nil
	}
	l, err := turbo.Load("")
	if err != nil {
		return nil, err
	}
	return l.New()
}

// work returns the operation on each file.
func work(do string, d codec.Decoder) (func(data []byte, seed uint64) error, error) {
	o := images.ImageNetTrain()
	switch do {
	case "decode":
		return func(data []byte, _ uint64) error {
			h, err := codec.ReadHeader(data)
			if err == nil {
				_, err = d.Decode(data, h, h.Bounds(), 1)
			}
			return err
		}, nil
	case "uint8":
		o = images.Options{Crop: images.CropRandomResized, Flip: 0.5}
	case "float32":
	case "eval":
		o = images.ImageNetEval()
	case "jitter":
		to := images.Range{0.6, 1.4}
		o.ColorJitter = images.Jitter{Brightness: to, Contrast: to, Saturation: to, Hue: images.Range{-0.1, 0.1}}
	case "bicubic":
		o.Interpolation = images.Bicubic
	default:
		return nil, fmt.Errorf("--do must be decode, uint8, float32, eval, jitter or bicubic, got %q", do)
	}
	a, err := images.New(o, d)
	dst := make([]byte, o.Bytes())
	return func(data []byte, seed uint64) error { return a.Apply(dst, data, seed) }, err
}

// cpu is the processor time that the process has taken, in seconds.
func cpu() (user, system float64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
}
