package codec_test

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
)

// Pictures in formats that are not decoded are refused by name.
func TestOtherFormats(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"big tiff":  {[]byte("MM\x00+\x00\x08\x00\x00"), "a BigTIFF"},
		"avif":      {[]byte("\x00\x00\x00\x20ftypavif\x00\x00\x00\x00"), "an AVIF"},
		"heic":      {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), "a HEIC"},
		"jpeg xl":   {[]byte("\x00\x00\x00\x0cJXL \r\n\x87\n"), "a JPEG XL"},
		"jpeg 2000": {[]byte("\x00\x00\x00\x0cjP  \r\n\x87\n"), "a JPEG 2000"},
		"words":     {[]byte("BMW is a car, and this is no picture"), ""},
		"short":     {[]byte("BM"), ""},
		"ftyp":      {[]byte("\x00\x00\x00\x18ftyp"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec.ReadHeader(c.file)
			if err == nil || strings.Contains(err.Error(), "the image is "+c.want+", and JPEG") != (c.want != "") {
				t.Errorf("got %v", err)
			}
		})
	}
}
