package main

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

func inGo() (codec.Decoder, error) { return &codec.Go{}, nil }

// A tile has the pixels that training gets, before they are normalised.
func TestMontageTiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.parquet")
	rows := pictures(t)
	writePictures(t, path, rows)
	t.Setenv("SHARDFEED_LIBTURBOJPEG", "/nonexistent") // so that the Go decoder makes both
	page := filepath.Join(t.TempDir(), "page.png")
	code, _, stderr := command(t, "sample", path, "-n", "99", "--montage", page, "--images", "img=imagenet_train,size=24x32,flip=0.5", "--epochs", "2")
	if code != 0 {
		t.Fatal(stderr)
	}
	f, err := os.Open(page)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	o := images.Options{Height: 24, Width: 32, Crop: images.CropRandomResized, Flip: 0.5, Layout: images.HWC}
	a, err := images.New(o, &codec.Go{})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, o.Bytes())
	across := 6 // 10 rows of 2 tiles: 3 rows beside each other
	if got := m.Bounds().Dx(); got != tileGap+across*(32+tileGap) {
		t.Fatalf("the page is %d pixels wide", got)
	}
	for row, r := range rows {
		for epoch := range 2 {
			i := 2*row + epoch
			x, y := tileGap+i%across*(32+tileGap), tileGap+i/across*(24+captionHeight)
			if err := a.Apply(want, r.Image, loader.ImageSeed(0, int64(epoch), int64(row), 0, "img")); err != nil {
				want = bytes.Repeat([]byte{missing.R, missing.G, missing.B}, 24*32)
			}
			for k := range 24 * 32 {
				r, g, b, _ := m.At(x+k%32, y+k/32).RGBA()
				if got := [3]byte{byte(r >> 8), byte(g >> 8), byte(b >> 8)}; got != [3]byte(want[3*k:3*k+3]) {
					t.Fatalf("row %d, epoch %d, pixel %d is %v, want %v", row, epoch, k, got, want[3*k:3*k+3])
				}
			}
		}
	}
}

func TestMontageGrid(t *testing.T) {
	for _, c := range []struct {
		name                   string
		rows, columns, epochs  int
		across, down           int
		firstCaption, lastTile string // of the first and the last tile of a row
	}{
		{"one", 1, 1, 1, 1, 1, "row 7", "row 7"},
		{"a square", 9, 1, 1, 3, 3, "row 7", "row 7"},
		{"one more", 10, 1, 1, 4, 3, "row 7", "row 7"},
		{"columns", 10, 2, 1, 6, 4, "row 7 a", "b"},
		{"epochs", 10, 1, 4, 8, 5, "row 7", ""},
		{"many tiles of one row", 1, 2, 8, 16, 1, "row 7 a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := map[string]images.Options{"a": {}, "b": {}}
			if c.columns == 1 {
				delete(all, "b")
			}
			m, err := newMontage(all, c.epochs, inGo)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for range c.rows {
				m.rows = append(m.rows, 7)
			}
			if across, down := m.grid(); across != c.across || down != c.down {
				t.Errorf("%d x %d tiles, want %d x %d", across, down, c.across, c.down)
			}
			if got := m.caption(0, 99); got != c.firstCaption {
				t.Errorf("the first caption is %q, want %q", got, c.firstCaption)
			}
			if got := m.caption(c.columns*c.epochs-1, 99); got != c.lastTile {
				t.Errorf("the last caption is %q, want %q", got, c.lastTile)
			}
		})
	}
}

// A page too large to be looked at is refused before images are read.
func TestMontageSize(t *testing.T) {
	m, err := newMontage(map[string]images.Options{"a": {}}, 2, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.checkSize(500); err != nil {
		t.Error(err)
	}
	err = m.checkSize(1000)
	if err == nil || !strings.Contains(err.Error(), "2,000 tiles of 224 x 224") || !strings.Contains(err.Error(), "lower --limit, --epochs or size") {
		t.Errorf("got %v", err)
	}
}

// The seeds of tiles are those of batches.
func TestMontageSeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.parquet")
	rows := pictures(t)[6:]
	writePictures(t, path, rows)
	o := images.Options{Height: 24, Crop: images.CropRandomResized, Flip: 0.5, Layout: images.HWC}
	spec := shardfeed.Spec{Addresses: []string{path}, Columns: []string{"img"}, Images: map[string]images.Options{"img": o}, BatchSize: 2, RowIDs: true}
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
	m, err := newMontage(spec.Images, 1, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	compared := 0
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		row, source := rowIDs(b.Columns)
		pixels := b.Columns[0]
		for pixels.Field.Kind == column.List {
			pixels = pixels.Children[0]
		}
		for i := range b.Valid {
			number := int64(binary.LittleEndian.Uint64(row.Data[8*i:]))
			seed := loader.ImageSeed(0, b.Epoch, number, int32(binary.LittleEndian.Uint32(source.Data[4*i:])), "img")
			tile, err := m.columns[0].tile(rows[number].Image, seed)
			if err != nil {
				t.Fatal(err)
			}
			got := pixels.Data[i*o.Bytes():][:o.Bytes()]
			for k := range 24 * 24 {
				if !bytes.Equal(got[3*k:3*k+3], tile.Pix[4*k:4*k+3]) {
					t.Fatalf("epoch %d, row %d: pixel %d is %v, the tile has %v", b.Epoch, number, k, got[3*k:3*k+3], tile.Pix[4*k:4*k+3])
				}
			}
			compared++
		}
		b.Release()
	}
	if compared != 2*len(rows) {
		t.Errorf("%d images were compared, want %d", compared, 2*len(rows))
	}
}
