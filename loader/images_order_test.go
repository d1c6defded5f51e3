package loader

import (
	"context"
	"errors"
	"image"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
)

// A slowDecoder fails after all that can go on meanwhile, and counts.
type slowDecoder struct {
	codec.Go
	decoded int
}

func (d *slowDecoder) Decode([]byte, codec.Header, image.Rectangle, int) (codec.Pixels, error) {
	d.decoded++
	time.Sleep(time.Millisecond)
	return codec.Pixels{}, &codec.Error{Text: "slow"}
}

// The failure that counts is that of the first row, also when a later one comes before it, and ends
// the decoding of later rows.
func TestImagesFirstFailure(t *testing.T) {
	for _, lenses := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s, err := imageOf("other", images.Options{Height: 2}).Shape(imageSchema())
			if err != nil {
				t.Fatal(err)
			}
			d, r := &slowDecoder{}, &recipe{decoder: goDecoder}
			for _, c := range s.columns {
				r.images = append(r.images, c.images...)
			}
			need, err := r.imageNeed(lenses, 0)
			if err != nil {
				t.Fatal(err)
			}
			r.decoder = func() (codec.Decoder, error) { return d, nil }
			im := r.newImaging(need, nil)
			defer im.close()
			const rows = 6
			good := file(8, 8, 1, true)
			j := &imageJob{
				imaging: im, batch: &Batch{Rows: rows}, names: &rowNames{rows: make([]int64, rows), sources: make([]int32, rows)},
				files: [][][]byte{{good, nil, good, nil, good, good}}, tensors: [][]byte{make([]byte, rows*im.columns[0].bytes)}, sizes: [][]image.Point{make([]image.Point, rows)},
			}
			if err := j.all(t.Context()); err != nil {
				t.Fatal(err)
			}
			var first *codec.Error
			if len(j.failed) != lenses || j.failed[0].row != 0 || !errors.As(j.failed[0].err, &first) || d.decoded != 1 {
				t.Errorf("%d lenses: failed %v, %d rows were decoded", lenses, j.failed, d.decoded)
			}
		})
	}
}

// A turnDecoder notes the widths of its images, a millisecond each.
type turnDecoder struct {
	codec.Go
	turns *[]int
}

func (d *turnDecoder) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	*d.turns = append(*d.turns, h.Width)
	time.Sleep(time.Millisecond)
	return d.Go.Decode(data, h, r, denom)
}

// All lenses decode the earliest step, though a later one has come before it.
func TestImagesEarliestStepFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := imageOf("other", images.Options{Height: 2}).Shape(imageSchema())
		if err != nil {
			t.Fatal(err)
		}
		var turns []int
		r := &recipe{decoder: goDecoder}
		for _, c := range s.columns {
			r.images = append(r.images, c.images...)
		}
		need, err := r.imageNeed(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.decoder = func() (codec.Decoder, error) { return &turnDecoder{turns: &turns}, nil }
		im := r.newImaging(need, nil)
		var mu sync.Mutex
		var ended []int64
		ctx, cancel := context.WithCancel(t.Context())
		begin := func(ctx context.Context, step int64, want error) {
			const rows = 3
			j := &imageJob{
				imaging: im, batch: &Batch{Rows: rows, Step: step}, names: &rowNames{rows: make([]int64, rows), sources: make([]int32, rows)},
				tensors: [][]byte{make([]byte, rows*im.columns[0].bytes)}, sizes: [][]image.Point{make([]image.Point, rows)}, files: make([][][]byte, 1),
			}
			for range rows {
				j.files[0] = append(j.files[0], file(10+int(step), 8, 1, true))
			}
			go func() {
				if err := j.all(ctx); err != want {
					t.Errorf("step %d: %v", step, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, step)
			}()
			synctest.Wait()
		}
		begin(t.Context(), 2, nil)
		begin(ctx, 1, context.Canceled)
		begin(t.Context(), 0, nil)
		cancel()
		synctest.Wait()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		im.close()
		if want := []int{12, 10, 10, 10, 12, 12}; !slices.Equal(turns, want) || !slices.Equal(ended, []int64{1, 0, 2}) {
			t.Errorf("decoded %v, want %v; ended %v", turns, want, ended)
		}
	})
}
