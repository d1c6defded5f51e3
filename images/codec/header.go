package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
)

// ReadHeader reads the header of a picture's file. It walks over a JPEG to its end to
// count the scans, and allocates nothing. With an error the header has the format that the file's
// first bytes claim, and its bytes.
func ReadHeader(data []byte) (Header, error) {
	h, err := readHeader(data)
	if bad, ok := errors.AsType[*Error](err); ok {
		h = Header{Format: bad.Format}
	}
	h.Bytes = len(data)
	return h, err
}

func readHeader(data []byte) (Header, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xd8}):
		return jpegHeader(data)
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return pngHeader(data)
	case len(data) >= 16 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return webpHeader(data)
	case bytes.HasPrefix(data, []byte("GIF87a")) || bytes.HasPrefix(data, []byte("GIF89a")):
		return gifHeader(data)
	case bytes.HasPrefix(data, []byte("II*\x00")) || bytes.HasPrefix(data, []byte("MM\x00*")):
		return tiffHeader(data)
	case isBMP(data):
		return bmpHeader(data)
	case len(data) == 0:
		return Header{}, errorf(Unknown, "the image is empty")
	}
	if name := otherFormat(data); name != "" {
		return Header{}, errorf(Unknown, "the image is %s, and JPEG, PNG, WebP, GIF, BMP and TIFF are decoded: convert it, or decode its bytes in Python", name)
	}
	return Header{}, errorf(Unknown, "the image starts with %q: it is not JPEG, PNG, WebP, GIF, BMP or TIFF", data[:min(len(data), 8)])
}

// pngHeader reads the IHDR chunk, and eXIf if it precedes the pixels.
func pngHeader(data []byte) (Header, error) {
	if len(data) < 33 || string(data[12:16]) != "IHDR" {
		return Header{}, errorf(PNG, "it has no IHDR chunk")
	}
	width, height := binary.BigEndian.Uint32(data[16:]), binary.BigEndian.Uint32(data[20:])
	h := Header{Format: PNG, Orientation: 1, Bits: int(data[24]), Scans: 1, Progressive: data[28] != 0}
	if width == 0 || height == 0 || width > 1<<31-1 || height > 1<<31-1 {
		return Header{}, errorf(PNG, "its size is %d x %d", width, height)
	}
	h.Width, h.Height = int(width), int(height)
	switch data[25] {
	case 0:
		h.Components = 1
	case 2, 3:
		h.Components, h.Indexed = 3, data[25] == 3
	case 4:
		h.Components = 2
	case 6:
		h.Components = 4
	default:
		return Header{}, errorf(PNG, "its color type is %d", data[25])
	}
	for rest := data[8:]; len(rest) >= 12; {
		n, kind := binary.BigEndian.Uint32(rest), string(rest[4:8])
		if kind == "IDAT" || uint64(n)+12 > uint64(len(rest)) {
			break
		}
		if kind == "eXIf" {
			h.Orientation = orientation(rest[8 : 8+n])
		}
		rest = rest[n+12:]
	}
	return h, nil
}

// webpHeader reads the chunks of a WebP file. x/image/webp trusts the sizes in chunks, so
// webpHeader checks each that it allocates by: chunks must be within the file, and a picture must
// have the size of its canvas.
func webpHeader(data []byte) (Header, error) {
	h := Header{Format: WebP, Orientation: 1, Bits: 8, Components: 3, Scans: 1}
	var canvas image.Point
	for body := data[12:]; len(body) >= 8; {
		kind, chunk, rest, ok := cutChunk(body)
		if !ok {
			return Header{}, errorf(WebP, "it is truncated: the chunk %q has %d of %d bytes", kind, len(body)-8, binary.LittleEndian.Uint32(body[4:]))
		}
		body = rest
		switch {
		case kind == "VP8X" && len(chunk) >= 10 && canvas == image.Point{}:
			canvas = image.Pt(int(binary.LittleEndian.Uint32(chunk[4:])&0xffffff)+1, int(binary.LittleEndian.Uint32(chunk[6:])>>8)+1)
		case kind == "ANMF" && h.Width == 0:
			if err := h.firstFrame(chunk, canvas); err != nil {
				return Header{}, err
			}
		case (kind == "VP8 " || kind == "VP8L") && h.Width == 0:
			if h.Width, h.Height = webpSize(kind, chunk); h.Width == 0 || h.Height == 0 {
				return Header{}, errorf(WebP, "the start of its picture is damaged")
			}
		case kind == "EXIF":
			h.Orientation = orientation(bytes.TrimPrefix(chunk, []byte("Exif\x00\x00")))
		}
	}
	switch size := image.Pt(h.Width, h.Height); {
	case h.Width == 0:
		return Header{}, errorf(WebP, "it has no picture")
	case canvas != image.Point{} && canvas != size:
		return Header{}, errorf(WebP, "its canvas is %v, its picture %v", canvas, size)
	}
	return h, nil
}

// webpSize returns the size of a chunk's picture, or 0 if it is damaged.
func webpSize(kind string, chunk []byte) (width, height int) {
	switch {
	case kind == "VP8L" && len(chunk) >= 5:
		bits := binary.LittleEndian.Uint32(chunk[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case kind == "VP8 " && len(chunk) >= 10:
		first := int(chunk[0]) | int(chunk[1])<<8 | int(chunk[2])<<16 // the frame tag; its upper bits are the first partition's length
		if first>>5+10 > len(chunk) {
			return 0, 0
		}
		return int(binary.LittleEndian.Uint16(chunk[6:])) & 0x3fff, int(binary.LittleEndian.Uint16(chunk[8:])) & 0x3fff
	}
	return 0, 0
}
