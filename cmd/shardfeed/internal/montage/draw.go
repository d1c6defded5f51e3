package montage

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/shardfeed/shardfeed/internal/text"
)

const (
	maxPixels     = 64 << 20 // pixels
	tileGap       = 4        // pixels between tiles
	captionHeight = 17       // pixels below a tile
)

// grid returns the numbers of tiles across and down: about equal, with the tiles of a row side by
// side.
func (p *Page) grid() (across, down int) {
	group := len(p.columns) * p.epochs
	n := max(1, len(p.rows))
	beside := min(n, max(1, int(math.Ceil(math.Sqrt(float64(n)/float64(group))))))
	return beside * group, (n + beside - 1) / beside
}

// CheckSize refuses a page that is too large to be looked at.
func (p *Page) CheckSize(rows int64) error {
	width, height := p.tile()
	tiles := rows * int64(len(p.columns)*p.epochs)
	if pixels := tiles * int64(width+tileGap) * int64(height+captionHeight); pixels > maxPixels {
		return fmt.Errorf("would have %s tiles of %d x %d, %s pixels, at most %s are allowed; lower --limit, --epochs or size",
			text.Count(tiles), width, height, text.Count(pixels), text.Count(maxPixels))
	}
	return nil
}

var (
	paper   = color.Gray{0xf2}
	ink     = color.Gray{0x20}
	missing = color.RGBA{0xb0, 0x30, 0x30, 0xff}
)

// draw draws the tiles.
func (p *Page) draw() *image.RGBA {
	width, height := p.tile()
	across, down := p.grid()
	page := image.NewRGBA(image.Rect(0, 0, tileGap+across*(width+tileGap), tileGap+down*(height+captionHeight)))
	draw.Draw(page, page.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
	for i, tile := range p.tiles {
		at := image.Pt(tileGap+i%across*(width+tileGap), tileGap+i/across*(height+captionHeight))
		if tile == nil {
			draw.Draw(page, image.Rect(0, 0, width, height).Add(at), image.NewUniform(missing), image.Point{}, draw.Src)
		} else {
			draw.Draw(page, tile.Rect.Add(at), tile, image.Point{}, draw.Src)
		}
		write := font.Drawer{Dst: page, Src: image.NewUniform(ink), Face: basicfont.Face7x13, Dot: fixed.P(at.X, at.Y+height+captionHeight-5)}
		write.DrawString(p.caption(i, width/basicfont.Face7x13.Advance))
	}
	return page
}

// caption returns the text below tile i, of at most most characters: the row below its first tile,
// with several columns each name below its own, and the values of captions below the first.
func (p *Page) caption(i, most int) string {
	group := len(p.columns) * p.epochs
	var text string
	if i%group == 0 {
		text = fmt.Sprintf("row %d ", p.rows[i/group])
	}
	if len(p.columns) > 1 && i%p.epochs == 0 {
		text += p.columns[i%group/p.epochs].name + " "
	}
	if i%group == 0 && p.texts != nil {
		text += p.texts[i/group]
	}
	text = strings.TrimSpace(text)
	if characters := []rune(text); len(characters) > most {
		text = string(characters[:most])
	}
	return text
}
