package codec

import (
	"bytes"
	"strings"
)

// otherFormats are the first bytes of formats that are known and not decoded. A dot is any byte.
var otherFormats = []struct{ prefix, name string }{
	{"GIF8", "a GIF"},
	{"II*\x00", "a TIFF"},
	{"MM\x00*", "a TIFF"},
	{"....ftypavif", "an AVIF"},
	{"....ftypavis", "an AVIF"},
	{"....ftyphei", "a HEIC"},
	{"....ftyphev", "a HEIC"},
	{"....ftypmif1", "a HEIF"},
	{"\xff\x0a", "a JPEG XL"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL"},
	{"\x00\x00\x00\x0cjP  ", "a JPEG 2000"},
	{"BM............\x28\x00\x00\x00", "a BMP"},
	{"BM............\x6c\x00\x00\x00", "a BMP"},
	{"BM............\x7c\x00\x00\x00", "a BMP"},
}

// otherFormat names the format of a file that is not decoded, or returns "".
func otherFormat(data []byte) string {
	for _, f := range otherFormats {
		if fixed := strings.TrimLeft(f.prefix, "."); len(data) >= len(f.prefix) && matches(data[len(f.prefix)-len(fixed):], fixed) {
			return f.name
		}
	}
	return ""
}

func matches(data []byte, prefix string) bool {
	before, after, gap := strings.Cut(prefix, "............")
	return bytes.HasPrefix(data, []byte(before)) && (!gap || bytes.HasPrefix(data[len(before)+12:], []byte(after)))
}
