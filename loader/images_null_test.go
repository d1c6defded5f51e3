package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
)

// A null picture has the color Null, in its own type and layout, and no size or box; pictures that
// share its draw have their own.
func TestNullImages(t *testing.T) {
	rows := pictures(4)
	rows[2].Img = nil
	rows[3].Meta.Bytes = rows[3].Img
	for i := range rows {
		rows[i].Meta.Bytes = slices.Clone(rows[i].Img)
	}
	rows[2].Meta.Bytes = rows[1].Img
	color := images.Color{Given: true, Channels: [3]int{255, 51, 0}}
	o := Options{BatchSize: 4, Images: map[string]images.Options{
		"img":        {Height: 2, Width: 3, Null: color, Geometry: true, Crop: images.CropCenter, DType: images.Float32, Mean: [3]float32{0, 0.2, 0}},
		"meta.bytes": {Like: "img"},
	}}
	for b, err := range newShop(t, openPictures(t, rows, iterable.Options{}), o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(values[int64](t, b, "id"), 2)
		pixels := mem.As[float32](tensorBytes(t, b, "img")[at])
		if want := append(slices.Repeat([]float32{1}, 6), make([]float32, 12)...); !slices.Equal(pixels, want) {
			t.Errorf("got %v, want %v", pixels, want)
		}
		if slices.Max(tensorBytes(t, b, "meta.bytes")[at]) == 0 {
			t.Error("the picture beside it is black")
		}
		if size, box := tensorBytes(t, b, "img_size")[at], tensorBytes(t, b, "img_box")[at]; slices.Max(size) != 0 || slices.Max(box) != 0 {
			t.Errorf("size %v, box %v", size, box)
		}
		if other := tensorBytes(t, b, "img_size")[(at+1)%4]; slices.Max(other) == 0 {
			t.Error("another row has no size")
		}
		b.Release()
	}
}

// A null file of a column with paths beside its bytes is named as one.
func TestNullBytesBesideAPath(t *testing.T) {
	rows := pictures(2)
	rows[1].Meta.Bytes = nil
	o := Options{BatchSize: 2, Images: map[string]images.Options{"meta.bytes": {Height: 2}}}
	_, err := steps(t.Context(), newShop(t, openPictures(t, rows, iterable.Options{}), o))
	if err == nil || !strings.Contains(err.Error(), "it is null: files that a path beside the bytes names are not read") || !strings.Contains(err.Error(), "null=0") {
		t.Errorf("got %v", err)
	}
}
