package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/loader"
)

// A montage is a page of images as training has them: for each row a tile for each column of images
// and each epoch, with the row's number below.
type montage struct {
	columns []montageColumn
	epochs  int
	tiles   []*image.RGBA // row by row; nil where the image cannot be shown
	rows    []int64
	failed  []string // why tiles are missing
}

// A montageColumn is a column of images, and who makes tiles of them.
type montageColumn struct {
	name      string
	options   images.Options // as tiles have them
	augmenter *images.Augmenter
}

const (
	maxPage       = 64 << 20 // pixels
	tileGap       = 4        // pixels between tiles
	captionHeight = 17       // pixels below a tile
)

// newMontage makes a montage with a decoder for each column. The options are the training's: tiles
// have the same crops and colors, before they are normalised.
func newMontage(all map[string]images.Options, epochs int, decoder func() (codec.Decoder, error)) (*montage, error) {
	m := &montage{epochs: epochs}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		o.Mean, o.Std, o.DType, o.Layout = [3]float32{}, [3]float32{}, images.Uint8, images.HWC
		d, err := decoder()
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		a, err := images.New(o, d)
		if err != nil {
			return nil, errors.Join(err, d.Close(), m.Close())
		}
		m.columns = append(m.columns, montageColumn{name, o, a})
	}
	return m, nil
}

// Close frees the decoders. It may be called on nil.
func (m *montage) Close() error {
	if m == nil {
		return nil
	}
	var all []error
	for _, c := range m.columns {
		all = append(all, c.augmenter.Close())
	}
	return errors.Join(all...)
}

// tile returns the size of a tile, which fits every column.
func (m *montage) tile() (width, height int) {
	for _, c := range m.columns {
		s := c.options.Shape()
		height, width = max(height, s[0]), max(width, s[1])
	}
	return width, height
}

// add makes the tiles of rows, whose columns have row ids.
func (m *montage) add(columns []*column.Array, n int) error {
	row, source := rowIDs(columns)
	for i := range n {
		number := int64(binary.LittleEndian.Uint64(row.Data[8*i:]))
		from := int32(binary.LittleEndian.Uint32(source.Data[4*i:]))
		m.rows = append(m.rows, number)
		for _, c := range m.columns {
			file, present := fileOf(columns, c.name, i)
			for epoch := range m.epochs {
				var tile *image.RGBA
				err := errors.New("it is null")
				if present {
					tile, err = c.tile(file, loader.ImageSeed(0, int64(epoch), number, from, c.name))
				}
				if bad := new(codec.Error); present && err != nil && !errors.As(err, &bad) {
					return err
				}
				if err != nil && epoch == 0 {
					m.failed = append(m.failed, fmt.Sprintf("row %d, %s: %v", number, c.name, err))
				}
				m.tiles = append(m.tiles, tile)
			}
		}
	}
	return nil
}

// tile is an image as training has it with a seed.
func (c montageColumn) tile(file []byte, seed uint64) (*image.RGBA, error) {
	s := c.options.Shape()
	pixels := make([]byte, c.options.Bytes())
	if err := c.augmenter.Apply(pixels, file, seed); err != nil {
		return nil, err
	}
	tile := image.NewRGBA(image.Rect(0, 0, s[1], s[0]))
	for i := range s[0] * s[1] {
		copy(tile.Pix[4*i:], pixels[3*i:3*i+3])
		tile.Pix[4*i+3] = 255
	}
	return tile, nil
}

// rowIDs returns the columns with the ids of rows.
func rowIDs(columns []*column.Array) (row, source *column.Array) {
	made := func(t column.Type) *column.Array {
		return columns[slices.IndexFunc(columns, func(a *column.Array) bool { return a.Field.Made && a.Field.Type == t })]
	}
	return made(column.TypeInt64), made(column.TypeInt32)
}

// fileOf is the value of a column, or of a member of a struct by its dotted path, in row i.
func fileOf(columns []*column.Array, name string, i int) (file []byte, present bool) {
	for _, a := range columns {
		if a.Field.Name == name && a.Field.Kind == column.Binary {
			return rowio.ValueOf(a, i), !a.IsNull(i)
		}
		if below, ok := strings.CutPrefix(name, a.Field.Name+"."); ok && a.Field.Kind == column.Struct {
			if file, present := fileOf(a.Children, below, i); present {
				return file, !a.IsNull(i)
			}
		}
	}
	return nil, false
}

// grid returns the numbers of tiles across and down: about equal, with the tiles of a row side by
// side.
func (m *montage) grid() (across, down int) {
	group := len(m.columns) * m.epochs
	n := max(1, len(m.rows))
	beside := min(n, max(1, int(math.Ceil(math.Sqrt(float64(n)/float64(group))))))
	return beside * group, (n + beside - 1) / beside
}

// checkSize refuses a page that is too large to be looked at.
func (m *montage) checkSize(rows int64) error {
	width, height := m.tile()
	tiles := rows * int64(len(m.columns)*m.epochs)
	if pixels := tiles * int64(width+tileGap) * int64(height+captionHeight); pixels > maxPage {
		return usagef("--montage would have %s tiles of %d x %d, %s pixels, at most %s are allowed; lower --limit, --epochs or size",
			text.Count(tiles), width, height, text.Count(pixels), text.Count(maxPage))
	}
	return nil
}

var (
	paper   = color.Gray{0xf2}
	ink     = color.Gray{0x20}
	missing = color.RGBA{0xb0, 0x30, 0x30, 0xff}
)

// page draws the tiles.
func (m *montage) page() *image.RGBA {
	width, height := m.tile()
	across, down := m.grid()
	page := image.NewRGBA(image.Rect(0, 0, tileGap+across*(width+tileGap), tileGap+down*(height+captionHeight)))
	draw.Draw(page, page.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
	for i, tile := range m.tiles {
		at := image.Pt(tileGap+i%across*(width+tileGap), tileGap+i/across*(height+captionHeight))
		if tile == nil {
			draw.Draw(page, image.Rect(0, 0, width, height).Add(at), image.NewUniform(missing), image.Point{}, draw.Src)
		} else {
			draw.Draw(page, tile.Rect.Add(at), tile, image.Point{}, draw.Src)
		}
		write := font.Drawer{Dst: page, Src: image.NewUniform(ink), Face: basicfont.Face7x13, Dot: fixed.P(at.X, at.Y+height+captionHeight-5)}
		write.DrawString(m.caption(i, width/basicfont.Face7x13.Advance))
	}
	return page
}

// caption returns the text below tile i, of at most most characters: the row below its first tile,
// and with several columns each name below its own.
func (m *montage) caption(i, most int) string {
	group := len(m.columns) * m.epochs
	var text string
	if i%group == 0 {
		text = fmt.Sprintf("row %d ", m.rows[i/group])
	}
	if len(m.columns) > 1 && i%m.epochs == 0 {
		text += m.columns[i%group/m.epochs].name
	}
	text = strings.TrimSpace(text)
	return text[:min(len(text), most)]
}

// montageMark is a chunk behind the header of a PNG, by which a montage is known.
var montageMark = func() []byte {
	chunk := []byte("tEXtSoftware\x00shardfeed montage")
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-8)), chunk)
}()

const pngHeader = 8 + 25 // bytes of the signature and the first chunk

// png is the page as a file.
func (m *montage) png() ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, m.page()); err != nil {
		return nil, err
	}
	return slices.Concat(b.Bytes()[:pngHeader], montageMark, b.Bytes()[pngHeader:]), nil
}

func montageKind() saveKind {
	return saveKind{noun: "montage", prefix: "\x89PNG\r\n\x1a\n", is: func(path string, _ int64) bool {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		mark := make([]byte, len(montageMark))
		_, err = f.ReadAt(mark, pngHeader)
		return err == nil && bytes.Equal(mark, montageMark)
	}}
}
