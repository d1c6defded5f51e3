package codec

import (
	"encoding/binary"
	"image"
	"slices"
)

// firstFrame reads the header of the first frame of an animated WebP, in a chunk ANMF.
func (h *Header) firstFrame(chunk []byte, canvas image.Point) error {
	_, picture := framePicture(chunk)
	if len(picture) < 8 {
		return errorf(WebP, "its first frame has no picture")
	}
	w, ht := webpSize(string(picture[:4]), picture[8:])
	at := image.Pt(2*u24(chunk), 2*u24(chunk[3:]))
	frame := image.Rectangle{at, at.Add(image.Pt(w, ht))}
	switch all := (image.Rectangle{Max: canvas}); {
	case w == 0 || ht == 0:
		return errorf(WebP, "the start of its first frame is damaged")
	case w != u24(chunk[6:])+1 || ht != u24(chunk[9:])+1 || !frame.In(all):
		return errorf(WebP, "its first frame is %v, outside of its canvas %v or of another size than it says", frame, canvas)
	}
	h.Width, h.Height, h.Frame = canvas.X, canvas.Y, frame
	return nil
}

// framePicture returns the chunk of the picture in an ANMF chunk, with its header, and its kind.
func framePicture(chunk []byte) (kind string, picture []byte) {
	if len(chunk) < 16 {
		return "", nil
	}
	for body := chunk[16:]; len(body) >= 8; {
		kind, within, rest, ok := cutChunk(body)
		if !ok {
			return "", nil
		}
		if kind == "VP8 " || kind == "VP8L" {
			return kind, body[:8+len(within)]
		}
		body = rest
	}
	return "", nil
}

// cutChunk cuts off the first chunk of a body of at least 8 bytes. It is not ok if the chunk is cut
// short.
func cutChunk(body []byte) (kind string, chunk, rest []byte, ok bool) {
	kind = string(body[:4])
	n := uint64(binary.LittleEndian.Uint32(body[4:]))
	if n > uint64(len(body)-8) {
		return kind, nil, nil, false
	}
	return kind, body[8 : 8+n], body[min(8+n+n&1, uint64(len(body))):], true
}

// stillWebP returns the first frame of an animation as a file of its own.
func stillWebP(data []byte) []byte {
	for body := data[12:]; len(body) >= 8; {
		kind, chunk, rest, ok := cutChunk(body)
		if !ok {
			return nil
		}
		if kind == "ANMF" {
			_, picture := framePicture(chunk)
			still := append([]byte("RIFF\x00\x00\x00\x00WEBP"), picture...)
			if len(still)%2 == 1 {
				still = append(still, 0)
			}
			binary.LittleEndian.PutUint32(still[4:], uint32(len(still)-8))
			return still
		}
		body = rest
	}
	return nil
}

func u24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// frame decodes the first frame of an animation on a black canvas.
func (d *Go) frame(data []byte, h Header) (image.Image, error) {
	still := stillWebP(data)
	m, err := decodeAll(still, WebP)
	if err != nil {
		return nil, &Error{Format: WebP, Text: reason(err), Err: err}
	}
	size := h.Frame.Size()
	if m.Bounds() != (image.Rectangle{Max: size}) {
		return nil, errorf(WebP, "its first frame is %v, its picture %v", size, m.Bounds().Size())
	}
	if size == h.Bounds().Size() {
		return m, nil
	}
	d.rgb = slices.Grow(d.rgb[:0], 3*size.X*size.Y)[:3*size.X*size.Y]
	if err := d.convert(m, WebP, m.Bounds()); err != nil {
		return nil, err
	}
	alpha, _ := alphaOf(m)
	canvas := image.NewNRGBA(h.Bounds())
	for y := range size.Y {
		to, from := canvas.Pix[canvas.PixOffset(h.Frame.Min.X, h.Frame.Min.Y+y):], d.rgb[3*y*size.X:]
		for x := range size.X {
			copy(to[4*x:4*x+3], from[3*x:3*x+3])
			to[4*x+3] = 255
			if alpha != nil {
				to[4*x+3] = alpha(x, y)[0]
			}
		}
	}
	return canvas, nil
}
