package loader

import (
	"image"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/iterable"
)

// A decodeCounter counts the files that decoders decode.
type decodeCounter struct {
	codec.Decoder
	files *atomic.Int64
}

func (d decodeCounter) Decode(data []byte, h codec.Header, r image.Rectangle, denom int) (codec.Pixels, error) {
	d.files.Add(1)
	return d.Decoder.Decode(data, h, r, denom)
}

// A file is decoded once for all of its views and results, also where its memory is large, and
// other columns are decoded in between.
func TestFilesAreDecodedOnce(t *testing.T) {
	rows := pictures(20)
	ds := openPictures(t, rows, iterable.Options{})
	large, small := augmented(), augmented()
	large.Of, small.Of, large.Views, small.Views, large.Height = "img", "img", 2, 3, 9
	var files atomic.Int64
	o := Options{BatchSize: 4, Workers: 2, Images: map[string]images.Options{"large": large, "small": small, "meta.bytes": augmented()}}
	o.ImageDecoder = func() (codec.Decoder, error) { return decodeCounter{new(codec.Go), &files}, nil }
	for b, err := range newShop(t, ds, o).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if got := files.Load(); got != 40 {
		t.Errorf("%d files are decoded, want one of each column in each of 20 rows", got)
	}
}

// Columns of one file come one after the other, and after the columns whose draws they have.
func TestOrderOfShared(t *testing.T) {
	at := func(name, like string, column int, o images.Options) *imageColumn {
		return &imageColumn{name: name, like: like, column: column, views: max(1, o.Views), options: o}
	}
	none, nearest, white := images.Options{}, images.Options{Interpolation: images.Nearest}, images.Options{Background: images.Color{Given: true}}
	all := []*imageColumn{
		at("a", "", 1, none), at("b", "", 2, none), at("c", "a", 1, none), at("d", "b", 1, none), at("e", "", 1, nearest),
		at("f", "", 1, white), at("g", "", 1, none), at("h", "", 3, images.Options{Views: 2}), at("i", "h", 4, none),
	}
	orderImages(all)
	var names, shared []string
	for i, m := range all {
		if names = append(names, m.name); m.place != i || m.lead >= i {
			t.Errorf("%s is at %d of %d, behind its lead at %d", m.name, m.place, i, m.lead)
		}
		if m.leads() {
			text := ""
			for _, of := range m.share.columns {
				text += of.name
			}
			shared = append(shared, text)
		}
	}
	if want := []string{"a", "g", "c", "b", "e", "f", "h", "d", "i"}; !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
	if want := []string{"agc", "h"}; !slices.Equal(shared, want) {
		t.Errorf("shared are %q, want %q", shared, want)
	}
}
