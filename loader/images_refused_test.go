package loader

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// refusedRows are the rows of a loader's first batch, as its device refuses them.
func refusedRows(t *testing.T, ds *iterable.Dataset, o Options) (all []RefusedImage) {
	t.Helper()
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		for i, row := range rowsOfDevice(t, b, "img") {
			task := bytes.Clone(mem.AsBytes([]images.Task{row.task}))
			all = append(all, RefusedImage{Column: "img", Row: values[int64](t, b, "id")[i], Task: mem.As[int32](task), File: []byte(row.data)})
		}
		break
	}
	return all
}

// What a device refuses becomes the image of the loader.
func TestImageMender(t *testing.T) {
	rows := pictures(20)
	for _, o := range []images.Options{augmented(), {Height: 5, Width: 9, Crop: images.CropLetterbox, Fill: [3]int{1, 2, 3}, IgnoreOrientation: true}} {
		ds := openPictures(t, rows, iterable.Options{})
		options := Options{BatchSize: 6, Images: map[string]images.Options{"img": o}, ImageSplit: NewImageSplit(0)}
		m, err := NewImageMender(ds, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range refusedRows(t, ds, options) {
			got, loss, err := m.Make(r)
			if expected := want(t, o, rows[r.Row].Img, "img", 0, r.Row, 0); err != nil || loss != nil || !bytes.Equal(got, expected) {
				t.Errorf("row %d: %v, %v, the image of the loader: %v", r.Row, loss, err, bytes.Equal(got, expected))
			}
		}
	}
}

// A file that cannot be decoded at all is the loss or the error that it is in a loader.
func TestImageMenderOfDamagedFiles(t *testing.T) {
	options := Options{BatchSize: 6, Images: map[string]images.Options{"img": {Height: 5}}, ImageSplit: NewImageSplit(0)}
	for _, onError := range []iterable.OnError{iterable.Raise, iterable.Mask, iterable.Skip} {
		ds := openPictures(t, pictures(20), iterable.Options{Losses: iterable.Losses{OnError: onError}})
		m, err := NewImageMender(ds, options)
		if err != nil {
			t.Fatal(err)
		}
		r := refusedRows(t, ds, options)[0]
		r.File = r.File[:len(r.File)/2]
		got, loss, err := m.Make(r)
		if onError == iterable.Raise {
			var at *rowgroup.Error
			if loss != nil || !errors.As(err, &at) || at.Column != "img" || at.Hint == "" || !strings.Contains(err.Error(), "JPEG: it is truncated") {
				t.Errorf("%v: %v, %v", onError, loss, err)
			}
			continue
		}
		if got != nil || err != nil || loss == nil || loss.Column != "img" || loss.Hi != loss.Lo+1 || !rowgroup.IsLoss(loss.Err) {
			t.Errorf("%v: %v, %v, %v", onError, got, loss, err)
		}
	}
}

func TestImageMenderErrors(t *testing.T) {
	ds := openPictures(t, pictures(20), iterable.Options{Losses: iterable.Losses{OnError: iterable.Skip}})
	options := Options{BatchSize: 6, Images: map[string]images.Options{"img": {Height: 5}}, ImageSplit: NewImageSplit(0)}
	options.ImageDecoder = func() (codec.Decoder, error) { return new(brokenDecoder), nil }
	m, err := NewImageMender(ds, options)
	if err != nil {
		t.Fatal(err)
	}
	r := refusedRows(t, ds, options)[0]
	var broke *iterable.PanicError
	if _, loss, err := m.Make(r); loss != nil || !errors.As(err, &broke) {
		t.Errorf("a decoder that panics: %v, %v", loss, err)
	}
	for _, other := range []RefusedImage{{Column: "meta.bytes", Task: r.Task}, {Column: "img", Task: r.Task[1:]}} {
		if _, loss, err := m.Make(other); loss != nil || err == nil {
			t.Errorf("column %q: %v, %v", other.Column, loss, err)
		}
	}
}
