package codec

import (
	"bytes"
	"encoding/binary"
)

// JPEG markers, the byte after 0xff (T.81, table B.1).
const (
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerDRI  = 0xdd
	markerAPP1 = 0xe1
	markerTEM  = 0x01
	markerRST0 = 0xd0
	markerRST7 = 0xd7

	markerAPP14 = 0xee // Adobe's, with the transform of the colors
)

// jpegHeader reads the markers of a JPEG up to its end. What it cannot follow, decoders refuse.
func jpegHeader(data []byte) (Header, error) {
	h, rgb := Header{Format: JPEG, Orientation: 1}, false
	for at := 2; ; {
		marker, body, next := nextMarker(data, at)
		switch {
		case marker == 0:
			return Header{}, errorf(JPEG, "it is truncated: the end marker is missing after %d bytes", len(data))
		case marker == markerEOI:
			if h.Width == 0 || h.Scans == 0 {
				return Header{}, errorf(JPEG, "it has no picture")
			}
			if rgb && h.Components == 3 {
				h.Luma = 0
			}
			return h, nil
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if err := h.frame(marker, body); err != nil {
				return Header{}, err
			}
		case marker == markerSOS:
			h.Scans++
		case marker == markerDRI && len(body) >= 2:
			h.Restarts = h.Restarts || body[0] != 0 || body[1] != 0
		case marker == markerAPP1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")):
			h.Orientation = orientation(body[6:])
		case marker == markerAPP14 && bytes.HasPrefix(body, []byte("Adobe")) && len(body) >= 12:
			rgb = body[11] == 0
		}
		at = next
	}
}

// nextMarker finds the next marker at or after a place, skipping restart markers and stuffed bytes
// of the coded data. The marker is 0 at the end of the data. body is the segment without its
// length.
func nextMarker(data []byte, at int) (marker byte, body []byte, next int) {
	for {
		i := bytes.IndexByte(data[min(at, len(data)):], 0xff)
		if i < 0 || at+i+1 >= len(data) {
			return 0, nil, len(data)
		}
		at += i + 1
		marker := data[at]
		switch {
		case marker == 0xff: // fill
			continue
		case marker == 0 || marker == markerTEM || marker >= markerRST0 && marker <= markerSOI:
			at++
			continue
		case marker == markerEOI:
			return marker, nil, at + 1
		}
		if at+3 > len(data) {
			return 0, nil, len(data)
		}
		n := int(binary.BigEndian.Uint16(data[at+1:]))
		if n < 2 || at+1+n > len(data) {
			return 0, nil, len(data)
		}
		return marker, data[at+3 : at+1+n], at + 1 + n
	}
}

// frame reads a start of frame.
func (h *Header) frame(marker byte, body []byte) error {
	if h.Width != 0 {
		return errorf(JPEG, "it has two frames")
	}
	if len(body) < 6 || len(body) < 6+3*int(body[5]) {
		return errorf(JPEG, "its frame header has %d bytes", len(body))
	}
	h.Bits = int(body[0])
	h.Height, h.Width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	h.Components = int(body[5])
	h.Progressive = marker == 0xc2
	switch {
	case marker > 0xc2:
		return errorf(JPEG, "its coding (marker %#x) is not supported: baseline, extended and progressive Huffman are", marker)
	case h.Bits != 8:
		return errorf(JPEG, "it has %d bits a sample, only 8 are supported", h.Bits)
	case h.Width == 0 || h.Height == 0:
		return errorf(JPEG, "its size is %d x %d", h.Width, h.Height)
	case h.Components != 1 && h.Components != 3 && h.Components != 4:
		return errorf(JPEG, "it has %d components; 1, 3 and 4 are supported", h.Components)
	}
	across, down := 1, 1
	for i := range h.Components {
		s := body[7+3*i]
		if s>>4 < 1 || s>>4 > 4 || s&15 < 1 || s&15 > 4 {
			return errorf(JPEG, "component %d is sampled %d x %d", i, s>>4, s&15)
		}
		across, down = max(across, int(s>>4)), max(down, int(s&15))
	}
	if h.Components == 1 {
		across, down = 1, 1 // one component is never interleaved
	}
	h.MCUWidth, h.MCUHeight = 8*across, 8*down
	h.Luma = luma(body[6 : 6+3*h.Components])
	return nil
}

// luma returns Header.Luma by the components of a frame, 3 bytes each: a name, the sampling, and a
// table.
func luma(components []byte) uint8 {
	switch len(components) {
	case 3:
		return 0x11 // one component is never interleaved
	case 9:
		names := string([]byte{components[0], components[3], components[6]})
		if components[4] == 0x11 && components[7] == 0x11 && names != "RGB" {
			return components[1]
		}
	}
	return 0
}
