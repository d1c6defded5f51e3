package codec

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"io"
	"slices"
)

// gifHeader reads a GIF up to its first frame. The picture is the screen, of which a frame may have
// a part.
func gifHeader(data []byte) (Header, error) {
	g, err := readGIF(data)
	if err != nil {
		return Header{}, err
	}
	return Header{
		Format: GIF, Orientation: 1, Bits: 8, Components: 3, Indexed: true, Scans: 1,
		Width: g.screen.X, Height: g.screen.Y, Frame: g.frame,
	}, nil
}

// A gifStart describes the first frame of a GIF.
type gifStart struct {
	screen      image.Point
	frame       image.Rectangle
	palette     []byte // of the frame: 3 bytes a color
	transparent int    // index, or -1
}

// readGIF reads the start of a GIF (GIF89a, sections 17 to 23).
func readGIF(data []byte) (g gifStart, err error) {
	cut := errorf(GIF, "it is truncated, or has no picture")
	if len(data) < 13 {
		return g, cut
	}
	g.screen, g.transparent = u16Point(data[6:]), -1
	rest := data[13:]
	if g.palette, rest, err = colorTable(data[10], rest); err != nil {
		return g, err
	}
	for len(rest) > 0 {
		switch rest[0] {
		case 0x21: // an extension: a label and blocks
			if len(rest) >= 8 && rest[1] == 0xf9 && rest[3]&1 != 0 {
				g.transparent = int(rest[6])
			}
			rest = rest[min(2, len(rest)):]
			for len(rest) > 0 && rest[0] != 0 {
				rest = rest[min(1+int(rest[0]), len(rest)):]
			}
			rest = rest[min(1, len(rest)):]
		case 0x2c:
			if len(rest) < 10 {
				return g, cut
			}
			at := u16Point(rest[1:])
			g.frame = image.Rectangle{at, at.Add(u16Point(rest[5:]))}
			own, _, err := colorTable(rest[9], rest[10:])
			if len(own) > 0 {
				g.palette = own
			}
			if all := (image.Rectangle{Max: g.screen}); err == nil && (g.frame.Empty() || !g.frame.In(all)) {
				err = errorf(GIF, "its first frame is %v, and its screen %v", g.frame, g.screen)
			}
			return g, err
		default:
			return g, cut
		}
	}
	return g, cut
}

func u16Point(b []byte) image.Point {
	return image.Pt(int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:])))
}

// colorTable cuts off a table of colors, if the flags announce one.
func colorTable(flags byte, data []byte) (table, rest []byte, err error) {
	if flags&0x80 == 0 {
		return nil, data, nil
	}
	n := 3 << (flags&7 + 1)
	if len(data) < n {
		return nil, nil, errorf(GIF, "it is truncated in its colors")
	}
	return data[:n], data[n:], nil
}

// decodeGIF decodes the first frame on its screen. Places outside of the frame have its transparent
// color, or its first one, as Pillow has them; image/gif would make transparent colors black.
func decodeGIF(r io.Reader, data []byte) (image.Image, error) {
	m, err := gif.Decode(r)
	if err != nil {
		return nil, err
	}
	g, err := readGIF(data)
	if err != nil {
		return nil, err
	}
	p, ok := m.(*image.Paletted)
	if !ok || p.Rect != g.frame {
		return nil, errorf(GIF, "the decoder returned a %T of %v", m, m.Bounds())
	}
	p.Palette = make(color.Palette, len(g.palette)/3)
	for i := range p.Palette {
		p.Palette[i] = color.RGBA{g.palette[3*i], g.palette[3*i+1], g.palette[3*i+2], 255}
		if i == g.transparent {
			p.Palette[i] = color.NRGBA{g.palette[3*i], g.palette[3*i+1], g.palette[3*i+2], 0}
		}
	}
	screen := image.Rectangle{Max: g.screen}
	if p.Rect == screen {
		return p, nil
	}
	whole := image.NewPaletted(screen, p.Palette)
	if g.transparent > 0 {
		copy(whole.Pix, slices.Repeat([]byte{byte(g.transparent)}, len(whole.Pix)))
	}
	for y := p.Rect.Min.Y; y < p.Rect.Max.Y; y++ {
		copy(whole.Pix[whole.PixOffset(p.Rect.Min.X, y):], p.Pix[p.PixOffset(p.Rect.Min.X, y):][:p.Rect.Dx()])
	}
	return whole, nil
}
