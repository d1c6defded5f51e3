package montage

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/loader"
)

func inGo() (codec.Decoder, error) { return &codec.Go{}, nil }

func TestGrid(t *testing.T) {
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
			m, err := New(all, c.epochs, inGo)
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
func TestSize(t *testing.T) {
	m, err := New(map[string]images.Options{"a": {}}, 2, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.CheckSize(500); err != nil {
		t.Error(err)
	}
	err = m.CheckSize(1000)
	if err == nil || !strings.Contains(err.Error(), "2,000 tiles of 224 x 224") || !strings.Contains(err.Error(), "lower --limit, --epochs or size") {
		t.Errorf("got %v", err)
	}
}

// grayPNG is the file of a gray picture.
func grayPNG(t *testing.T) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 13, 11))
	for i := range m.Pix {
		m.Pix[i] = byte(i)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Each view has a tile, by the name of its result.
func TestTilesOfViews(t *testing.T) {
	p, err := New(map[string]images.Options{"pair": {Of: "img", Views: 2, Height: 7, Crop: images.CropRandomResized, Flip: 0.5}}, 1, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	file := grayPNG(t)
	columns := []*column.Array{
		{Field: &column.Field{Name: "img", Kind: column.Binary}, Len: 1, Offsets: []int32{0, int32(len(file))}, Data: file},
		{Field: &column.Field{Kind: column.Fixed, Type: column.TypeInt64, Made: true}, Len: 1, Data: make([]byte, 8)},
		{Field: &column.Field{Kind: column.Fixed, Type: column.TypeInt32, Made: true}, Len: 1, Data: make([]byte, 4)},
	}
	if err := p.Add(columns, 1); err != nil {
		t.Fatal(err)
	}
	if len(p.tiles) != 2 || p.caption(0, 99) != "row 0 pair 1" || p.caption(1, 99) != "pair 2" {
		t.Fatalf("%d tiles, below the first %q, the second %q", len(p.tiles), p.caption(0, 99), p.caption(1, 99))
	}
	if bytes.Equal(p.tiles[0].Pix, p.tiles[1].Pix) {
		t.Error("both views have the same pixels")
	}
}

// A mask's tile is gray, with the crop of the picture that it is like.
func TestTilesOfMasks(t *testing.T) {
	drawn := images.Options{Height: 7, Crop: images.CropRandomResized, Flip: 0.5, Channels: 1, Interpolation: images.Nearest}
	p, err := New(map[string]images.Options{"image": drawn, "mask": {Like: "image", Channels: 1, Interpolation: images.Nearest}}, 1, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	file := grayPNG(t)
	var tiles [][]byte
	for _, c := range p.columns {
		tile, err := c.tile(file, loader.ImageSeed(0, 0, 5, 0, c.draws, c.view))
		if err != nil {
			t.Fatal(err)
		}
		tiles = append(tiles, tile.Pix)
	}
	if !bytes.Equal(tiles[0], tiles[1]) || tiles[0][0] != tiles[0][1] || bytes.Count(tiles[0], tiles[0][:4]) == 49 {
		t.Errorf("tiles are %v and %v", tiles[0], tiles[1])
	}
}

// Tiles of pictures and masks of 16 bits have 8, and so have their colors.
func TestTilesOfUint16(t *testing.T) {
	m := image.NewRGBA64(image.Rect(0, 0, 2, 4))
	for i := range m.Pix {
		if m.Pix[i] = 0x80; i%8 >= 6 {
			m.Pix[i] = 0xff
		}
	}
	mask := image.NewGray16(m.Rect)
	p := pageOf(t, map[string]images.Options{
		"img":  {Height: 4, Crop: images.CropLetterbox, DType: images.Uint16, Fill: [3]int{65535, 0, 257}},
		"mask": {Like: "img", Channels: 1, Interpolation: images.Nearest, DType: images.Uint16, Fill: [3]int{65535}},
	}, nil, nil, binary1(t, "img", m), binary1(t, "mask", mask))
	for i, want := range [][2]color.RGBA{{{255, 0, 1, 255}, {0x80, 0x80, 0x80, 255}}, {{255, 255, 255, 255}, {0, 0, 0, 255}}} {
		if got := [2]color.RGBA{p.tiles[i].RGBAAt(0, 0), p.tiles[i].RGBAAt(1, 0)}; got != want {
			t.Errorf("tile %d is %v, want %v", i, got, want)
		}
	}
}
