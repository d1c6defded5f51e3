package montage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/rowio"
	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/jsonl"
	"github.com/shardfeed/shardfeed/loader"
)

// A Page is a montage of images as training has them: for each row a tile for each column of images,
// each of its views and each epoch, with the row's number below.
type Page struct {
	columns []imageColumn // and views of them
	epochs  int
	tiles   []*image.RGBA // row by row; nil where the image cannot be shown
	rows    []int64
	failed  []string // why tiles are missing

	boxes    map[string]boxes.Options // drawn into the tiles of their images
	captions []string                 // columns
	plain    *jsonl.Plain             // writes their values
	texts    []string                 // of rows; nil without captions
}

// Show draws boxes into the tiles of their images, and the values of columns of the schema below the
// first tile of a row: without captions, of the columns with names of classes.
func (p *Page) Show(all map[string]boxes.Options, captions []string, schema *column.Schema) error {
	p.boxes, p.plain = all, jsonl.NewPlain(schema, rowio.ShownItems)
	for _, name := range captions {
		if !slices.ContainsFunc(schema.Fields, func(f *column.Field) bool { return f.Name == name }) {
			return fmt.Errorf("must name columns that are read, got %q", name)
		}
	}
	for _, f := range schema.Fields {
		if slices.Contains(captions, f.Name) || len(captions) == 0 && len(f.Labels) > 0 {
			p.captions = append(p.captions, f.Name)
		}
	}
	return nil
}

// A imageColumn is a view of a column of images, and who makes tiles of them.
type imageColumn struct {
	name      string
	column    string // of images
	file      string // the column with its files
	draws     string // the column whose draw it has: its own, or one that it is like
	view      int
	mask      bool           // its tiles show the picture that it is like, in the mask's colors
	options   images.Options // as tiles have them
	augmenter *images.Augmenter
}

// New makes a page with a decoder for each column. The options are the training's: tiles
// have the same crops and colors, before they are normalised.
func New(all map[string]images.Options, epochs int, decoder func() (codec.Decoder, error)) (*Page, error) {
	p := &Page{epochs: epochs}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o, draws := all[name], name
		if o.Like != "" {
			o, draws = o.Follow(all[o.Like]), o.Like
		}
		if o.DType == images.Uint16 { // tiles have 8 bits
			for _, c := range []*[3]int{&o.Fill, &o.Null.Channels, &o.Background.Channels} {
				for i := range c {
					c[i] = (c[i] + 128) / 257
				}
			}
		}
		o.Mean, o.Std, o.DType, o.Layout = [3]float32{}, [3]float32{}, images.Uint8, images.HWC
		if o.Channels == 4 { // tiles are opaque
			o.Channels = 3
		}
		if o.Channels == 1 {
			o.DType = images.Float32 // which holds 8 bits and 16
		}
		views := max(1, o.Views)
		o.Views = 0
		d, err := decoder()
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		a, err := images.New(o, d)
		if err != nil {
			return nil, errors.Join(err, d.Close(), p.Close())
		}
		for view := range views {
			label := name
			if views > 1 {
				label = fmt.Sprintf("%s %d", name, view+1)
			}
			p.columns = append(p.columns, imageColumn{label, name, all[name].Source(name), draws, view, overlays(all[name]), o, a})
		}
	}
	return p, nil
}

// Close frees the decoders. It may be called on nil.
func (p *Page) Close() error {
	if p == nil {
		return nil
	}
	var all []error
	for _, c := range p.columns {
		if c.view == 0 {
			all = append(all, c.augmenter.Close())
		}
	}
	return errors.Join(all...)
}

// tile returns the size of a tile, which fits every column.
func (p *Page) tile() (width, height int) {
	for _, c := range p.columns {
		s := c.options.Shape()
		height, width = max(height, s[0]), max(width, s[1])
	}
	return width, height
}

// Add makes the tiles of rows, whose columns have row ids.
func (p *Page) Add(columns []*column.Array, n int) error {
	row, source := rowIDs(columns)
	for i := range n {
		number := int64(binary.LittleEndian.Uint64(row.Data[8*i:]))
		from := int32(binary.LittleEndian.Uint32(source.Data[4*i:]))
		p.rows = append(p.rows, number)
		if len(p.captions) > 0 {
			p.texts = append(p.texts, p.textOf(columns, i))
		}
		for _, c := range p.columns {
			file, present := fileOf(columns, c.file, i)
			for epoch := range p.epochs {
				var tile *image.RGBA
				err := errors.New("it is null")
				if present {
					seed := loader.ImageSeed(0, int64(epoch), number, from, c.draws, c.view)
					if tile, err = c.tile(file, seed); err == nil && len(p.boxes) > 0 {
						p.drawBoxes(tile, &c, columns, i, c.shows(file, seed))
					}
				}
				if bad := new(codec.Error); present && err != nil && !errors.As(err, &bad) {
					return err
				}
				if err != nil && epoch == 0 {
					p.failed = append(p.failed, fmt.Sprintf("row %d, %s: %v", number, c.name, err))
				}
				p.tiles = append(p.tiles, tile)
			}
		}
		p.overlay()
	}
	return nil
}

// shows returns the part of a picture that its tile shows.
func (c imageColumn) shows(file []byte, seed uint64) [4]float64 {
	h, _ := codec.ReadHeader(file) // which was decoded
	return c.options.View(c.options.Size(h), seed)
}

// textOf returns the values of the captions of row i.
func (p *Page) textOf(columns []*column.Array, i int) string {
	var text []byte
	for k, a := range columns {
		if !slices.Contains(p.captions, a.Field.Name) {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		before := len(text)
		text = p.plain.Append(text, k, a, i)
		if v, err := strconv.Atoi(string(text[before:])); err == nil && v >= 0 && v < len(a.Field.Labels) {
			text = append(text[:before], a.Field.Labels[v]...)
		}
	}
	return string(text)
}

// tile is an image as training has it with a seed.
func (c imageColumn) tile(file []byte, seed uint64) (*image.RGBA, error) {
	s := c.options.Shape()
	pixels := make([]byte, c.options.Bytes())
	if err := c.augmenter.Apply(pixels, file, seed); err != nil {
		return nil, err
	}
	tile := image.NewRGBA(image.Rect(0, 0, s[1], s[0]))
	for i := range s[0] * s[1] {
		if s[2] == 1 {
			v := byte(255*math.Float32frombits(binary.NativeEndian.Uint32(pixels[4*i:])) + 0.5)
			pixels[3*i], pixels[3*i+1], pixels[3*i+2] = v, v, v
		}
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

// Rows returns how many rows the page has.
func (p *Page) Rows() int { return len(p.rows) }

// Images returns how many images the page has. It counts images that cannot be shown.
func (p *Page) Images() int { return len(p.tiles) / p.epochs }

// Failed says for each image that cannot be shown why.
func (p *Page) Failed() []string { return p.failed }
