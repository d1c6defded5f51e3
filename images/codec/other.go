package codec

import (
	"bytes"
	"strings"
)

// otherFormats are the first bytes of formats that are known and not decoded. A dot is any byte.
var otherFormats = []struct{ prefix, name string }{
	{"II+\x00", "a BigTIFF"},
	{"MM\x00+", "a BigTIFF"},
	{"....ftypavif", "an AVIF"},
	{"....ftypavis", "an AVIF"},
	{"....ftyphei", "a HEIC"},
	{"....ftyphev", "a HEIC"},
	{"....ftypmif1", "a HEIF"},
	{"\xff\x0a", "a JPEG XL"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL"},
	{"\x00\x00\x00\x0cjP  ", "a JPEG 2000"},
}

// otherFormat names the format of a file that is not decoded, or returns "".
func otherFormat(data []byte) string {
	for _, f := range otherFormats {
		if fixed := strings.TrimLeft(f.prefix, "."); len(data) >= len(f.prefix) && bytes.HasPrefix(data[len(f.prefix)-len(fixed):], []byte(fixed)) {
			return f.name
		}
	}
	return ""
}
