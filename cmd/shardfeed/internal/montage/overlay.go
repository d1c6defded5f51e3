package montage

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
)

// overlays reports whether a column is masks, whose tiles show the picture in the masks' colors.
func overlays(o images.Options) bool {
	nearest := o.Interpolation == images.Nearest || o.Interpolation == images.NearestExact
	return o.Like != "" && o.Channels == 1 && nearest && (o.DType == "" || o.DType == images.Uint8)
}

// overlay lays the colors of the masks of the last row on their pictures.
func (p *Page) overlay() {
	row := p.tiles[len(p.tiles)-len(p.columns)*p.epochs:]
	for k, c := range p.columns {
		lead := slices.IndexFunc(p.columns, func(of imageColumn) bool { return of.column == c.draws && of.view == c.view })
		if !c.mask || lead < 0 {
			continue
		}
		for epoch := range p.epochs {
			if mask, picture := row[k*p.epochs+epoch], row[lead*p.epochs+epoch]; mask != nil && picture != nil {
				colorBy(mask, picture)
			}
		}
	}
}

// colorBy makes a picture of a mask: half of the picture, half the color of each value. Where the
// mask is 0 the picture stays as it is.
func colorBy(mask, picture *image.RGBA) {
	for i := 0; i < len(mask.Pix); i += 4 {
		v, under := mask.Pix[i], picture.Pix[i:]
		c := valueColor(v)
		for k, over := range [...]byte{c.R, c.G, c.B} {
			if mask.Pix[i+k] = under[k]; v != 0 {
				mask.Pix[i+k] = byte((int(under[k]) + int(over)) / 2)
			}
		}
	}
}

// valueColor is the color of a value in Pascal VOC's palette: bits 0, 3 and 6 of the value are the
// upper bits of red, 1, 4 and 7 of green, 2 and 5 of blue.
func valueColor(v byte) color.RGBA {
	c := color.RGBA{A: 255}
	for shift := 7; v != 0; shift, v = shift-1, v>>3 {
		c.R |= v & 1 << shift
		c.G |= v >> 1 & 1 << shift
		c.B |= v >> 2 & 1 << shift
	}
	return c
}

// drawBoxes draws the boxes and points of row i that follow a column into its tile.
func (p *Page) drawBoxes(tile *image.RGBA, c *imageColumn, columns []*column.Array, i int, view [4]float64) {
	for name, o := range p.boxes {
		if o.Of != c.column {
			continue
		}
		v := boxes.View{Part: view, Width: tile.Rect.Dx(), Height: tile.Rect.Dy()}
		all := numbersOf(columns, name, i)
		for n := range slices.Chunk(all, o.Format.Numbers()) {
			if len(n) < o.Format.Numbers() || !o.Move(n, &v) {
				continue
			}
			x0, y0, x1, y1 := corners(o.Format, n)
			frame(tile, image.Rect(x0, y0, x1, y1))
		}
	}
}

// corners returns a box, or five pixels around a point.
func corners(f boxes.Format, n []float32) (x0, y0, x1, y1 int) {
	at := func(v float32) int { return int(math.Round(float64(v))) }
	switch f {
	case boxes.XY, boxes.XYV:
		return at(n[0]) - 2, at(n[1]) - 2, at(n[0]) + 3, at(n[1]) + 3
	case boxes.XYWH:
		return at(n[0]), at(n[1]), at(n[0] + n[2]), at(n[1] + n[3])
	case boxes.CXCYWH:
		return at(n[0] - n[2]/2), at(n[1] - n[3]/2), at(n[0] + n[2]/2), at(n[1] + n[3]/2)
	}
	return at(n[0]), at(n[1]), at(n[2]), at(n[3])
}

// boxColor is seen on most pictures.
var boxColor = color.RGBA{0xff, 0x30, 0xe0, 0xff}

// frame draws the edges of a rectangle, two pixels wide.
func frame(tile *image.RGBA, r image.Rectangle) {
	for _, edge := range []image.Rectangle{
		image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+2), image.Rect(r.Min.X, r.Max.Y-2, r.Max.X, r.Max.Y),
		image.Rect(r.Min.X, r.Min.Y, r.Min.X+2, r.Max.Y), image.Rect(r.Max.X-2, r.Min.Y, r.Max.X, r.Max.Y),
	} {
		draw.Draw(tile, edge.Intersect(r), image.NewUniform(boxColor), image.Point{}, draw.Src)
	}
}

// numbersOf returns the numbers of row i of a column, or of a member of structs or of lists of them
// by its dotted path, whatever lists they are in.
func numbersOf(columns []*column.Array, name string, i int) []float32 {
	for _, a := range columns {
		below, member := strings.CutPrefix(name, a.Field.Name+".")
		if a.Field.Name == name || member {
			if member {
				return appendNumbers(nil, a, i, below)
			}
			return appendNumbers(nil, a, i, "")
		}
	}
	return nil
}

func appendNumbers(dst []float32, a *column.Array, i int, path string) []float32 {
	if a.IsNull(i) {
		return dst
	}
	switch a.Field.Kind {
	case column.List:
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			dst = appendNumbers(dst, a.Children[0], k, path)
		}
	case column.Struct:
		for _, c := range a.Children {
			if below, ok := strings.CutPrefix(path, c.Field.Name+"."); ok || path == c.Field.Name {
				if !ok {
					below = ""
				}
				return appendNumbers(dst, c, i, below)
			}
		}
	case column.Fixed:
		return append(dst, number(a.Field.Type, rowio.ValueOf(a, i)))
	}
	return dst
}

// number is a value of a type of numbers.
func number(t column.Type, v []byte) float32 {
	order := binary.LittleEndian
	switch t {
	case column.TypeFloat32:
		return math.Float32frombits(order.Uint32(v))
	case column.TypeFloat64:
		return float32(math.Float64frombits(order.Uint64(v)))
	case column.TypeInt64, column.TypeUint64:
		return float32(int64(order.Uint64(v)))
	case column.TypeInt32, column.TypeUint32:
		return float32(int32(order.Uint32(v)))
	case column.TypeInt16:
		return float32(int16(order.Uint16(v)))
	case column.TypeUint16:
		return float32(order.Uint16(v))
	case column.TypeInt8:
		return float32(int8(v[0]))
	case column.TypeUint8:
		return float32(v[0])
	}
	return 0
}
