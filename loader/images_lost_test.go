package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

// damages are ways in which a row has no picture, and what the error says.
var damages = []struct {
	name   string
	damage func(r *picture)
	want   string
}{
	{"truncated", func(r *picture) { r.Img = r.Img[:len(r.Img)/2] }, "JPEG: it is truncated"},
	{"not an image", func(r *picture) { r.Img = []byte("<html>") }, `the image starts with "<html>": it is not JPEG, PNG, WebP, GIF, BMP or TIFF`},
	{"null", func(r *picture) { r.Img = nil }, "it is null"},
	{"empty", func(r *picture) { r.Img = []byte{} }, "the image is empty"},
	{"bomb", func(r *picture) { r.Img = bomb(60_000, 60_000) }, "PNG: 60000 x 60000 is 3600000000 pixels, at most 89478485 are allowed; raise max_pixels if it is genuine"},
	{"second column", func(r *picture) { r.Meta.Bytes = r.Meta.Bytes[:40] }, "PNG: it is truncated"},
}

// bomb is a PNG that says it has so many pixels.
func bomb(width, height uint32) []byte {
	b := file(3, 3, 0, true)
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	return b
}

// twoImages are images in two columns.
func twoImages() map[string]images.Options {
	return map[string]images.Options{"img": augmented(), "meta.bytes": {Height: 3, DType: images.Float32}}
}

// A row without a picture ends the iteration at its step: with one error that says where it is,
// whatever the number of goroutines.
func TestImagesRaise(t *testing.T) {
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			rows := pictures(60)
			c.damage(&rows[43])
			c.damage(&rows[57]) // in a later row group
			ds := openPictures(t, rows, iterable.Options{ShuffleBuffer: iterable.Size{Rows: 1}, Order: iterable.Order{Lanes: 1, UnitRows: 10}})
			var first string
			for workers, parallel := range []int{0, 0, 2, 3} {
				o := Options{BatchSize: 20, Workers: workers, ImageParallel: parallel, Images: twoImages()}
				got, err := steps(context.Background(), newShop(t, ds, o))
				var at *rowgroup.Error
				if !errors.As(err, &at) || !rowgroup.IsLoss(err) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `OnError="skip"`) {
					t.Fatalf("got %v, want %s", err, c.want)
				}
				text := fmt.Sprint(len(got), err)
				if first == "" {
					first = text
				}
				if text != first {
					t.Errorf("%d workers: got %s, want %s", workers, text, first)
				}
				column := "img"
				if c.name == "second column" {
					column = "meta.bytes"
				}
				if place := fmt.Sprintf(`: mem://data/1.parquet: row group 1, column %q: row 3: `, column); !strings.Contains(text, place) && !strings.Contains(text, strings.Replace(strings.Replace(place, "group 1", "group 2", 1), "row 3", "row 7", 1)) {
					t.Errorf("got %s, want the place of row 43 or 57", text)
				}
			}
		})
	}
}

// A stepOf is what a step of damaged data shows.
type stepOf struct {
	ids         []int64
	valid, lost int
}

// stepsOf checks the pixels of all batches, and returns their rows by rank and step.
func stepsOf(t *testing.T, ds *iterable.Dataset, o Options, rows []picture) map[[2]int64]stepOf {
	t.Helper()
	all := map[[2]int64]stepOf{}
	for o.Rank = range o.WorldSize {
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			s := stepOf{slices.Clone(values[int64](t, b, "id")), b.Valid, b.Lost}
			for name, options := range o.Images {
				for i, tensor := range tensorBytes(t, b, name) {
					expected := make([]byte, options.Bytes())
					if r := rows[s.ids[i]]; r.Price >= 0 { // it has its pictures
						data := r.Img
						if name != "img" {
							data = r.Meta.Bytes
						}
						expected = want(t, options, data, name, b.Epoch, s.ids[i], 0)
					} else if i < b.Valid {
						t.Errorf("step %d: row %d counts", b.Step, s.ids[i])
					}
					if !bytes.Equal(tensor, expected) {
						t.Fatalf("step %d, place %d, row %d: other pixels", b.Step, i, s.ids[i])
					}
				}
			}
			for i, price := range values[float32](t, b, "Price") {
				if price != rows[s.ids[i]].Price {
					t.Errorf("step %d: row %d has the price of another", b.Step, s.ids[i])
				}
			}
			all[[2]int64{int64(o.Rank), b.Step}] = s
			b.Release()
		}
	}
	return all
}

// Under Mask and Skip steps have their other rows in order, and all else is as if no row was lost.
func TestImagesLost(t *testing.T) {
	rows := pictures(61)
	for i := range rows {
		rows[i].Price++
	}
	whole := openPictures(t, rows, iterable.Options{})
	rows = slices.Clone(rows)
	for i, at := range []int{0, 4, 5, 30, 44, 60} {
		damages[i].damage(&rows[at])
		rows[at].Price = -1
	}
	for _, world := range []int{1, 2} {
		for _, workers := range []int{0, 2} {
			for _, onError := range []iterable.OnError{iterable.Mask, iterable.Skip} {
				t.Run(fmt.Sprintf("%s, %d ranks, %d workers", onError, world, workers), func(t *testing.T) {
					ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: onError, MaxLost: 1}})
					o := Options{BatchSize: 6, WorldSize: world, Workers: workers, ImageParallel: 3, Images: twoImages()}
					before := idsOf(t, whole, o)
					got := stepsOf(t, ds, o, rows)
					if len(got) != len(before) {
						t.Fatalf("%d steps, want %d", len(got), len(before))
					}
					lost := 0
					for k, s := range before {
						good := slices.DeleteFunc(slices.Clone(s.ids[:s.valid]), func(id int64) bool { return rows[id].Price < 0 })
						is := got[k]
						if !slices.Equal(is.ids[:is.valid], good) || is.lost != s.valid-len(good) {
							t.Errorf("rank %d, step %d: %v, of which %d count and %d are lost, want %v", k[0], k[1], is.ids, is.valid, is.lost, good)
						}
						if onError == iterable.Mask && len(is.ids) != len(s.ids) {
							t.Errorf("rank %d, step %d has %d rows, want %d", k[0], k[1], len(is.ids), len(s.ids))
						}
						lost += is.lost
					}
					if n := len(ds.Losses()); lost != 6 || n != 6 {
						t.Errorf("%d rows are lost, in %d places", lost, n)
					}
				})
			}
		}
	}
}

// idsOf is stepsOf without images.
func idsOf(t *testing.T, ds *iterable.Dataset, o Options) map[[2]int64]stepOf {
	t.Helper()
	o.Images = nil
	all := map[[2]int64]stepOf{}
	for o.Rank = range o.WorldSize {
		for b, err := range newShop(t, ds, o).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all[[2]int64{int64(o.Rank), b.Step}] = stepOf{slices.Clone(values[int64](t, b, "id")), b.Valid, b.Lost}
			b.Release()
		}
	}
	return all
}

// A batch whose rows are all lost is empty, or has only rows that do not count.
func TestImagesAllLost(t *testing.T) {
	rows := pictures(8)
	for i := range rows {
		rows[i].Img = nil
	}
	for _, c := range []struct {
		onError iterable.OnError
		want    string
	}{{iterable.Mask, "4 rows (0 count), 4 lost; 4 rows (0 count), 4 lost; "}, {iterable.Skip, "0 rows (0 count), 4 lost; 0 rows (0 count), 4 lost; "}} {
		t.Run(string(c.onError), func(t *testing.T) {
			got := ""
			ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: c.onError, MaxLost: 1}})
			o := Options{BatchSize: 4, Images: map[string]images.Options{"img": {Height: 2}}}
			for b, err := range newShop(t, ds, o).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf("%d rows (%d count), %d lost; ", b.Rows, b.Valid, b.Lost)
				for _, tensor := range tensorBytes(t, b, "img") {
					if !bytes.Equal(tensor, make([]byte, 12)) {
						t.Errorf("a lost row has the pixels %v", tensor)
					}
				}
				b.Release()
			}
			if got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// More lost rows than MaxLost allows end the iteration at the same step, however many goroutines
// decode ahead of it. One row may always be lost.
func TestImagesMaxLost(t *testing.T) {
	rows := pictures(60)
	rows[7].Img = nil
	o := Options{BatchSize: 6, Images: twoImages(), Tail: shuffle.Short}
	mask := iterable.Options{Losses: iterable.Losses{OnError: iterable.Mask}}
	one := newShop(t, openPictures(t, rows, mask), o)
	if got, err := steps(t.Context(), one); err != nil || len(got) != 10 {
		t.Errorf("one lost row: %d batches, %v", len(got), err)
	}
	if s := one.Stats(); s.Lost != 1 || s.Stream.Lost != 1 || s.Stream.Rows != 59 {
		t.Errorf("%d rows, %d lost; %d handed out lost", s.Stream.Rows, s.Stream.Lost, s.Lost)
	}
	rows = slices.Clone(rows)
	rows[20].Img, rows[51].Img = nil, nil
	ds := openPictures(t, rows, mask)
	first := ""
	for workers := range 4 {
		o.Workers, o.ImageParallel = workers, 4
		got, err := steps(t.Context(), newShop(t, ds, o))
		var over *iterable.LostError
		if !errors.As(err, &over) || over.Lost != 2 || over.Read != 36 {
			t.Fatalf("%d workers: %v", workers, err)
		}
		text := fmt.Sprint(len(got), " ", err)
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("%d workers: got %s, want %s", workers, text, first)
		}
	}
}

// Under Raise a lost row by number is an error of its request alone.
func TestImagesLostOfMap(t *testing.T) {
	rows := pictures(20)
	rows[3].Img = nil
	m, err := NewMap(openPictures(t, rows, iterable.Options{}), MapOptions{BatchSize: 4, Images: twoImages()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := `loader: images: mem://data/0.parquet: row group 0, column "img": row 3: it is null`
	hint := `OnError="skip" leaves them out`
	if _, err := m.Batch(t.Context(), []int64{1, 3}); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), hint) {
		t.Errorf("got %v, want %s", err, want)
	}
	b, err := m.Batch(t.Context(), []int64{2, 4})
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
}

// failingDecoder fails in a way that is not the file's.
type failingDecoder struct{ codec.Go }

func (*failingDecoder) Memory(codec.Header) int64 { return 1 << 40 }

// An image that never fits in the memory is an error that says which one, and what to raise. It is
// not lost data: another machine would have it.
func TestImagesTooLargeForMemory(t *testing.T) {
	rows := pictures(20)
	ds := openPictures(t, rows, iterable.Options{Losses: iterable.Losses{OnError: iterable.Skip, MaxLost: 1}, Resources: iterable.Resources{Memory: 512 << 20}})
	o := Options{BatchSize: 4, Images: map[string]images.Options{"img": {Height: 2}}}
	o.ImageDecoder = func() (codec.Decoder, error) { return new(failingDecoder), nil }
	_, err := steps(t.Context(), newShop(t, ds, o))
	want := "takes up to 1.0 TiB to decode, and the memory has "
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `column "img": row `) || !strings.Contains(err.Error(), "raise Memory, or lower MaxPixels of the column") {
		t.Errorf("got %v, want %s", err, want)
	}
	if rowgroup.IsLoss(err) || len(ds.Losses()) != 0 {
		t.Errorf("it counts as lost: %v", ds.Losses())
	}
}

// Failed rows get their places among the rows that are lost already.
func TestGapsOfFailedImages(t *testing.T) {
	j := imageJob{failed: []imageFailure{{row: 1}, {row: 3}}}
	b := &Batch{Hashes: make([]uint64, 6), Gaps: []int32{2}}
	if got, want := j.gaps(b), []int32{1, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
