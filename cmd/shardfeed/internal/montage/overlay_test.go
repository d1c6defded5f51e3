package montage

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
)

// binary1 is a column of one row with a PNG.
func binary1(t *testing.T, name string, m image.Image) *column.Array {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	return &column.Array{Field: &column.Field{Name: name, Kind: column.Binary}, Len: 1, Offsets: []int32{0, int32(file.Len())}, Data: file.Bytes()}
}

// numbers is a column of fixed values.
func numbers(name string, t column.Type, width int, values ...uint64) *column.Array {
	a := &column.Array{Field: &column.Field{Name: name, Kind: column.Fixed, Type: t, Width: width}, Len: len(values)}
	for _, v := range values {
		a.Data = append(a.Data, binary.LittleEndian.AppendUint64(nil, v)[:width]...)
	}
	return a
}

func listOf(name string, size int, items *column.Array) *column.Array {
	return &column.Array{Field: &column.Field{Name: name, Kind: column.List, ListSize: size, Children: []*column.Field{items.Field}}, Len: items.Len / size, Children: []*column.Array{items}}
}

// pageOf makes a page of one row.
func pageOf(t *testing.T, all map[string]images.Options, of map[string]boxes.Options, captions []string, columns ...*column.Array) *Page {
	t.Helper()
	p, err := New(all, 1, inGo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	row, source := numbers("", column.TypeInt64, 8, 5), numbers("", column.TypeInt32, 4, 0)
	row.Field.Made, source.Field.Made = true, true
	schema := &column.Schema{}
	columns = append(columns, row, source)
	for _, a := range columns {
		schema.Fields = append(schema.Fields, a.Field)
	}
	if err := p.Show(of, captions, schema); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(columns, 1); err != nil {
		t.Fatal(err)
	}
	return p
}

// Boxes are drawn at their places in the tile, of columns of every form and type.
func TestBoxesInTiles(t *testing.T) {
	bits := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	wide := math.Float64bits
	boxed := listOf("objects", 1, &column.Array{
		Field: &column.Field{Name: "", Kind: column.Struct}, Len: 1,
		Children: []*column.Array{listOf("bbox", 4, numbers("", column.TypeFloat32, 4, bits(10), bits(6), bits(20), bits(12)))},
	})
	for name, c := range map[string]struct {
		column *column.Array
		named  string
		format boxes.Format
		at     image.Point // of an edge
	}{
		"xyxy":      {listOf("b", 4, numbers("", column.TypeInt64, 8, 10, 6, 30, 18)), "b", boxes.XYXY, image.Pt(5, 4)},
		"xywh":      {boxed, "objects.bbox", boxes.XYWH, image.Pt(5, 4)},
		"cxcywh":    {listOf("b", 4, numbers("", column.TypeFloat64, 8, wide(20), wide(12), wide(20), wide(12))), "b", boxes.CXCYWH, image.Pt(5, 4)},
		"a point":   {listOf("b", 2, numbers("", column.TypeUint16, 2, 20, 20)), "b", boxes.XY, image.Pt(8, 11)},
		"of bytes":  {listOf("b", 4, numbers("", column.TypeUint8, 1, 10, 6, 30, 18)), "b", boxes.XYXY, image.Pt(5, 4)},
		"of shorts": {listOf("b", 4, numbers("", column.TypeInt16, 2, 10, 6, 30, 18)), "b", boxes.XYXY, image.Pt(5, 4)},
		"of ints":   {listOf("b", 4, numbers("", column.TypeInt32, 4, 10, 6, 30, 18)), "b", boxes.XYXY, image.Pt(5, 4)},
		"of int8":   {listOf("b", 4, numbers("", column.TypeInt8, 1, 10, 6, 30, 18)), "b", boxes.XYXY, image.Pt(5, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			// A picture of 40 x 30 in a tile of 20 x 20.
			p := pageOf(t, map[string]images.Options{"img": {Height: 20}}, map[string]boxes.Options{c.named: {Of: "img", Format: c.format}}, nil,
				binary1(t, "img", image.NewGray(image.Rect(0, 0, 40, 30))), c.column)
			if got := p.tiles[0].RGBAAt(c.at.X, c.at.Y); got != boxColor {
				t.Errorf("%v is %v", c.at, got)
			}
			if got := p.tiles[0].RGBAAt(18, 18); got != (color.RGBA{A: 255}) {
				t.Errorf("far from the box is %v", got)
			}
		})
	}
}

// A mask's tile is the picture with the color of each value.
func TestMasksColorPictures(t *testing.T) {
	picture, mask := image.NewGray(image.Rect(0, 0, 3, 1)), image.NewGray(image.Rect(0, 0, 3, 1))
	copy(picture.Pix, []byte{100, 100, 100})
	copy(mask.Pix, []byte{0, 1, 2})
	p := pageOf(t, map[string]images.Options{
		"img":  {Height: 1, Width: 3, Interpolation: images.Nearest},
		"mask": {Like: "img", Channels: 1, Interpolation: images.Nearest},
	}, nil, nil, binary1(t, "img", picture), binary1(t, "mask", mask))
	for x, want := range []color.RGBA{{100, 100, 100, 255}, {114, 50, 50, 255}, {50, 114, 50, 255}} {
		if got := p.tiles[1].RGBAAt(x, 0); got != want {
			t.Errorf("%d is %v, want %v", x, got, want)
		}
	}
	for v, want := range map[byte]color.RGBA{3: {128, 128, 0, 255}, 8: {64, 0, 0, 255}, 255: {224, 224, 192, 255}} { // as Pascal VOC has them
		if got := valueColor(v); got != want {
			t.Errorf("the color of %d is %v, want %v", v, got, want)
		}
	}
}

// Below the tiles are the values of columns: of columns with names of classes if none is named.
func TestCaptions(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 3, 3))
	class, plain := numbers("class", column.TypeInt64, 8, 1), numbers("n", column.TypeInt32, 4, 7)
	class.Field.Labels = []string{"cat", "dog"}
	beyond := numbers("class", column.TypeInt64, 8, 2)
	beyond.Field.Labels = class.Field.Labels
	for _, c := range []struct {
		captions []string
		class    *column.Array
		want     string
	}{{nil, class, "row 5 dog"}, {[]string{"n", "class"}, class, "row 5 dog 7"}, {[]string{"n"}, class, "row 5 7"}, {nil, beyond, "row 5 2"}} {
		p := pageOf(t, map[string]images.Options{"img": {Height: 3}}, nil, c.captions, binary1(t, "img", m), c.class, plain)
		if got := p.caption(0, 99); got != c.want {
			t.Errorf("%v: %q, want %q", c.captions, got, c.want)
		}
	}
	class.Field.Labels = []string{"개", "고양이"}
	hangul := pageOf(t, map[string]images.Options{"img": {Height: 3}}, nil, nil, binary1(t, "img", m), class, plain)
	for most, want := range map[int]string{99: "row 5 고양이", 8: "row 5 고양"} {
		if got := hangul.caption(0, most); got != want {
			t.Errorf("%d characters are %q, want %q", most, got, want)
		}
	}
	p, err := New(map[string]images.Options{"img": {}}, 1, inGo)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Show(nil, []string{"nothing"}, &column.Schema{}); err == nil || !strings.Contains(err.Error(), `must name columns that are read, got "nothing"`) {
		t.Error(err)
	}
}
