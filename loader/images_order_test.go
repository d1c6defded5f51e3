package loader

import (
	"errors"
	"image"
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
			j.end.Store(rows)
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
