package loader

import (
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/iterable"
)

// The bound of a batch of images and numbers is what it takes, to the alignment of its buffers.
func TestBatchBound(t *testing.T) {
	const rows = 20
	for _, c := range []struct {
		name    string
		columns []string
		images  map[string]images.Options
		bounded bool
	}{
		{"images", []string{"id", "img"}, map[string]images.Options{"img": {Height: 64}}, true},
		{"images and their geometry", []string{"id", "img"}, map[string]images.Options{"img": {Height: 64, Geometry: true}}, true},
		{"numbers", []string{"id"}, nil, true},
		{"files", []string{"id", "img"}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ds := openPictures(t, pictures(60), iterable.Options{Reading: iterable.Reading{Columns: c.columns}})
			o := Options{BatchSize: rows, Images: c.images}
			bound := BatchBound(ds, o)
			if !c.bounded {
				if bound != 0 {
					t.Errorf("bound is %d", bound)
				}
				return
			}
			for b, err := range newShop(t, ds, o).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n := b.Bytes(); bound < n || bound > n+int64(8*bufferAlign) {
					t.Errorf("bound is %d, a batch takes %d", bound, n)
				}
				b.Release()
			}
		})
	}
}
