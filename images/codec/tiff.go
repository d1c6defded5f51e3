package codec

import (
	"encoding/binary"
	"slices"
)

// Tags of a TIFF (TIFF 6.0, section 8).
const (
	tagWidth        = 256
	tagHeight       = 257
	tagBits         = 258
	tagCompression  = 259
	tagColors       = 262 // PhotometricInterpretation
	tagOrientation  = 274
	tagSamples      = 277
	tagRowsPerStrip = 278
	tagPlanar       = 284
	tagTileWidth    = 322
	tagTileHeight   = 323
)

// tiffHeader reads the first directory of a TIFF.
func tiffHeader(data []byte) (Header, error) {
	tags, err := tiffTags(data)
	if err != nil {
		return Header{}, err
	}
	value := func(tag uint16, otherwise uint32) int {
		v, ok := tags[tag]
		if !ok {
			v = otherwise
		}
		return int(v)
	}
	h := Header{Format: TIFF, Orientation: orientation(data), Bits: value(tagBits, 1), Scans: 1, Width: value(tagWidth, 0), Height: value(tagHeight, 0)}
	if h.Width == 0 || h.Height == 0 || h.Width > 1<<31-1 || h.Height > 1<<31-1 {
		return Header{}, errorf(TIFF, "its size is %d x %d", h.Width, h.Height)
	}
	h.Components = value(tagSamples, 1)
	switch colors := value(tagColors, 0); {
	case colors == 3:
		h.Components, h.Indexed = 3, true
	case colors == 2 && h.Components >= 3 && h.Components <= 4 && h.Bits >= 8, colors < 2 && h.Components == 1:
	default:
		return Header{}, errorf(TIFF, "it has %d channels of %s: gray, RGB, RGBA and palettes are supported", h.Components, tiffColors(colors))
	}
	switch {
	case h.Bits != 1 && h.Bits != 8 && h.Bits != 16 || h.Indexed && h.Bits == 16:
		return Header{}, errorf(TIFF, "it has %d bits a sample; 1, 8 and 16 are supported", h.Bits)
	case value(tagPlanar, 1) != 1 && h.Components > 1 && !h.Indexed:
		return Header{}, errorf(TIFF, "its channels are stored apart, which is not supported")
	}
	switch value(tagCompression, 1) {
	case 2, 3, 4:
		return Header{}, errorf(TIFF, "it is coded as a fax, which is not supported")
	case 6, 7:
		return Header{}, errorf(TIFF, "it has JPEG within, which is not supported")
	}
	h.MCUWidth, h.MCUHeight = h.Width, min(h.Height, max(1, value(tagRowsPerStrip, uint32(h.Height))))
	if w := value(tagTileWidth, 0); w > 0 {
		h.MCUWidth, h.MCUHeight = w, value(tagTileHeight, 0)
	}
	return h, nil
}

func tiffColors(n int) string {
	if n >= 0 && n <= 6 {
		return [...]string{"gray", "gray", "RGB", "a palette", "a mask", "CMYK", "YCbCr"}[n]
	}
	return "another color space"
}

// directory returns the entries of the first directory of a TIFF, 12 bytes each, and whether all of
// them are there.
func directory(data []byte) (order binary.ByteOrder, entries []byte, whole bool) {
	order = binary.BigEndian
	if len(data) < 8 {
		return order, nil, false
	}
	if data[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return order, nil, false
	}
	n, entries := 12*int(order.Uint16(data[at:])), data[at+2:]
	if len(entries) < n {
		return order, entries[:len(entries)/12*12], false
	}
	return order, entries[:n], true
}

// orientation returns tag 274 of a TIFF, as EXIF data is one too, or 1 if that is missing or invalid.
func orientation(data []byte) int {
	order, entries, _ := directory(data)
	for e := range slices.Chunk(entries, 12) {
		if order.Uint16(e) != tagOrientation {
			continue
		}
		if v := int(order.Uint16(e[8:])); order.Uint16(e[2:]) == 3 && v >= 1 && v <= 8 {
			return v
		}
		return 1
	}
	return 1
}

// tiffTags returns the first value of the numeric tags of the first directory.
func tiffTags(data []byte) (map[uint16]uint32, error) {
	order, entries, whole := directory(data)
	if !whole {
		return nil, errorf(TIFF, "it is truncated: its first directory is missing")
	}
	tags := map[uint16]uint32{}
	for e := range slices.Chunk(entries, 12) {
		tag, kind, count, value := order.Uint16(e), order.Uint16(e[2:]), order.Uint32(e[4:]), e[8:12]
		width := map[uint16]uint32{1: 1, 3: 2, 4: 4}[kind]
		if width == 0 || count == 0 {
			continue
		}
		if count > 4/width { // the values are elsewhere
			from := uint64(order.Uint32(value))
			if from+4 > uint64(len(data)) {
				continue
			}
			value = data[from : from+4]
		}
		switch kind {
		case 1:
			tags[tag] = uint32(value[0])
		case 3:
			tags[tag] = uint32(order.Uint16(value))
		case 4:
			tags[tag] = order.Uint32(value)
		}
	}
	return tags, nil
}

// tiffMemory is the memory of x/image/tiff: the picture, a strip or tile with up to 8 bytes a
// pixel in a buffer that doubles, the places of strips, and a directory.
func tiffMemory(h Header) int64 {
	each := int64(1)
	switch {
	case h.Components >= 3 && !h.Indexed:
		each = 4 * int64(h.Bits/8)
	case h.Bits == 16:
		each = 2
	}
	w, ht := int64(max(h.MCUWidth, 1)), int64(max(h.MCUHeight, 1))
	blocks := ((int64(h.Width) + w - 1) / w) * ((int64(h.Height) + ht - 1) / ht)
	return int64(h.Width)*int64(h.Height)*(each+3) + w*ht*32 + blocks*48 + 2<<20
}
