package images

import (
	"bytes"
	"image"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/image/imagetest"
)

// A tally counts what a decoder does.
type tally struct {
	codec.Decoder
	files, closed int
	denom         int
}

func (c *tally) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	c.files++
	c.denom = denom
	return c.Decoder.Decode(data, h, r, denom)
}

func (c *tally) KeepDepth() { c.Decoder.(codec.Deepener).KeepDepth() }

func (c *tally) Close() error {
	c.closed++
	return c.Decoder.Close()
}

// Results of a shared file have the pixels of an augmenter of their own, and it is decoded once:
// every format and orientation.
func TestSharedIsSeparate(t *testing.T) {
	files := imagetest.Encoded(imagetest.Corpus(t))
	all := []Options{
		{Height: 24, Width: 20, Crop: CropRandomResized, Scale: Range{0.4, 1}, Flip: 0.5, ReducingGap: -1},
		{Height: 9, Crop: CropRandomResized, Scale: Range{0.05, 0.4}, Interpolation: Bicubic, ReducingGap: -1, DType: Float32},
		{Height: 16, Crop: CropCenter, ReducingGap: -1, IgnoreOrientation: true, Layout: HWC},
	}
	for name, decoder := range decoders(t) {
		t.Run(name, func(t *testing.T) {
			var own []*Augmenter
			for _, o := range all {
				own = append(own, newAugmenter(t, o, decoder()))
			}
			d := &tally{Decoder: decoder()}
			s, err := NewShared(all, d)
			if err != nil {
				t.Fatal(err)
			}
			decoded := 0
			for name, data := range files {
				h, err := own[0].Header(data)
				if err != nil {
					t.Fatal(name, err)
				}
				s.Expect(data, h, func(yield func(i int, seed uint64)) {
					for i := range all {
						yield(i, uint64(2*i))
						yield(i, uint64(2*i+1))
					}
				})
				damaged := false
				for i, o := range all {
					for seed := uint64(2 * i); seed < uint64(2*i+2); seed++ {
						got, want := make([]byte, o.Bytes()), make([]byte, o.Bytes())
						err := s.Augmenter(i).ApplyTo(got, data, h, seed)
						if other := own[i].ApplyTo(want, data, h, seed); (err == nil) != (other == nil) {
							t.Fatalf("%s, options %d: %v, alone %v", name, i, err, other)
						}
						if damaged = err != nil; !damaged && !bytes.Equal(got, want) {
							t.Errorf("%s, options %d, seed %d: other pixels", name, i, seed)
						}
					}
				}
				if decoded += d.files; d.files != 1 && !damaged {
					t.Errorf("%s is decoded %d times", name, d.files)
				}
				d.files = 0
			}
			if decoded < 20 {
				t.Errorf("%d files", decoded)
			}
			if err := s.Augmenter(1).Close(); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil || d.closed != 1 {
				t.Errorf("closed %d times, %v", d.closed, err)
			}
		})
	}
}

// The scale suits the largest result of all, and a file that is not expected is decoded alone.
func TestSharedScale(t *testing.T) {
	for name, decoder := range decoders(t) {
		if name == "go" { // which does not scale
			continue
		}
		d := &tally{Decoder: decoder()}
		s, err := NewShared([]Options{{Height: 4}, {Height: 60}}, d)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		data := imagetest.Encoded(imagetest.Corpus(t))["large-progressive.jpg"]
		h, err := codec.ReadHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			expected []int
			denom    int
		}{{[]int{0}, 8}, {[]int{0, 1}, 2}, {nil, 8}} {
			s.Expect(data, h, func(yield func(i int, seed uint64)) {
				for _, i := range c.expected {
					yield(i, 0)
				}
			})
			file := data
			if c.expected == nil {
				file = slices.Clone(data)
			}
			if err := s.Augmenter(0).ApplyTo(make([]byte, 48), file, h, 0); err != nil {
				t.Fatal(err)
			}
			if d.denom != c.denom {
				t.Errorf("%d results: decoded at 1/%d, want 1/%d", len(c.expected), d.denom, c.denom)
			}
		}
	}
}
