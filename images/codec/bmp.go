package codec

import "encoding/binary"

// Sizes of BMP's header of a file, and of the headers of pictures that x/image/bmp reads.
const bmpFileHeader = 14

var bmpInfoHeaders = [...]uint32{40, 108, 124}

// isBMP reports whether a file starts with the header of a BMP.
func isBMP(data []byte) bool {
	if len(data) < bmpFileHeader+40 || string(data[:2]) != "BM" {
		return false
	}
	n := binary.LittleEndian.Uint32(data[bmpFileHeader:])
	return n == bmpInfoHeaders[0] || n == bmpInfoHeaders[1] || n == bmpInfoHeaders[2]
}

// bmpHeader reads the header of a BMP, of which isBMP is true.
func bmpHeader(data []byte) (Header, error) {
	h := Header{Format: BMP, Orientation: 1, Bits: 8, Components: 3, Scans: 1}
	width, height := int(int32(binary.LittleEndian.Uint32(data[18:]))), int(int32(binary.LittleEndian.Uint32(data[22:])))
	h.Width, h.Height = width, max(height, -height) // a negative height: rows from top to bottom
	bits := binary.LittleEndian.Uint16(data[28:])
	switch {
	case h.Width <= 0 || h.Height <= 0:
		return Header{}, errorf(BMP, "its size is %d x %d", width, height)
	case bits == 1 || bits == 2 || bits == 4 || bits == 8:
		h.Indexed = true
	case bits == 32:
		h.Components = 4
	case bits != 24:
		return Header{}, errorf(BMP, "it has %d bits a pixel; 1, 2, 4, 8, 24 and 32 are supported", bits)
	}
	return h, nil
}
