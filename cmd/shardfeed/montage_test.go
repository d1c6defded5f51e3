package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A montagePage is a page that the command drew, of tiles of one size.
type montagePage struct {
	image.Image
	width, height, across int
}

// tile returns the pixels of tile i.
func (p montagePage) tile(i int) []byte {
	const gap, caption = 4, 17 // pixels between tiles, and below each
	x, y := gap+i%p.across*(p.width+gap), gap+i/p.across*(p.height+caption)
	pixels := make([]byte, 0, 3*p.width*p.height)
	for k := range p.width * p.height {
		r, g, b, _ := p.At(x+k%p.width, y+k/p.width).RGBA()
		pixels = append(pixels, byte(r>>8), byte(g>>8), byte(b>>8))
	}
	return pixels
}

// drawMontage draws two epochs of the images of a file, with the decoder in Go.
func drawMontage(t *testing.T, path string, across int) montagePage {
	t.Setenv("SHARDFEED_LIBTURBOJPEG", "/nonexistent")
	file := filepath.Join(t.TempDir(), "page.png")
	if code, _, stderr := command(t, "sample", path, "-n", "99", "--montage", file, "--images", "img=imagenet_train,size=24x32,flip=0.5", "--epochs", "2"); code != 0 {
		t.Fatal(stderr)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	p := montagePage{drawn, 32, 24, across}
	if got, want := p.Bounds().Dx(), 4+across*(32+4); got != want {
		t.Fatalf("the page is %d pixels wide, want %d", got, want)
	}
	return p
}

var montageOptions = images.Options{Height: 24, Width: 32, Crop: images.CropRandomResized, Flip: 0.5, Layout: images.HWC}

// A tile has the pixels that training gets, before they are normalised.
func TestMontageTiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.parquet")
	rows := pictures(t)
	writePictures(t, path, rows)
	page := drawMontage(t, path, 6) // 10 rows of 2 tiles: 3 rows beside each other
	a, err := images.New(montageOptions, &codec.Go{})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, montageOptions.Bytes())
	for row, r := range rows {
		for epoch := range 2 {
			if err := a.Apply(want, r.Image, loader.ImageSeed(0, int64(epoch), int64(row), 0, "img", 0)); err != nil {
				want = bytes.Repeat([]byte{0xb0, 0x30, 0x30}, 24*32)
			}
			if !bytes.Equal(page.tile(2*row+epoch), want) {
				t.Errorf("the tile of row %d, epoch %d has other pixels", row, epoch)
			}
		}
	}
}

// The seeds of tiles are those of batches.
func TestMontageSeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.parquet")
	rows := pictures(t)[6:]
	writePictures(t, path, rows)
	page := drawMontage(t, path, 4)
	spec := shardfeed.Spec{Addresses: []string{path}, Columns: []string{"img"}, Images: map[string]images.Options{"img": montageOptions}, BatchSize: 2, RowIDs: true}
	ds, err := shardfeed.Open(t.Context(), spec, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close(t.Context())
	how := spec.LoaderOptions()
	how.Tail, how.Epochs = shuffle.Short, 2
	l, err := loader.New(ds.Dataset, how)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	compared := 0
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		row := b.Columns[slices.IndexFunc(b.Columns, func(a *column.Array) bool { return a.Field.Made && a.Field.Type == column.TypeInt64 })]
		pixels := b.Columns[0]
		for pixels.Field.Kind == column.List {
			pixels = pixels.Children[0]
		}
		for i := range b.Valid {
			number := int64(binary.LittleEndian.Uint64(row.Data[8*i:]))
			got := pixels.Data[i*montageOptions.Bytes():][:montageOptions.Bytes()]
			if !bytes.Equal(page.tile(int(2*number+b.Epoch)), got) {
				t.Errorf("epoch %d, row %d: the tile has other pixels than the batch", b.Epoch, number)
			}
			compared++
		}
		b.Release()
	}
	if compared != 2*len(rows) {
		t.Errorf("%d images were compared, want %d", compared, 2*len(rows))
	}
}
