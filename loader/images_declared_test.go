package loader

import (
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
)

// Declared pictures of 8 and of 16 bits have tensors of their type, and others are refused.
func TestOptionsOfEncoding(t *testing.T) {
	for _, c := range []struct {
		dtype string
		shape []int
		want  string
	}{
		{"uint8", []int{8, 10, 3}, ""},
		{"uint16", []int{8, 10, 3}, ""},
		{"float32", []int{8, 10, 3}, "and pictures of uint8 or uint16 and one shape (height, width, 3) are decoded as declared"},
		{"uint16", []int{8, 10}, "and pictures of uint8 or uint16"},
	} {
		o, err := optionsOfEncoding("x", &column.Encoding{Codec: "CompressedImageCodec", DType: c.dtype, Shape: c.shape})
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %v: %v", c.dtype, c.shape, err)
			}
		case err != nil || o.DType != images.DType(c.dtype) || o.Height != 8 || o.Width != 10 || !o.Exact:
			t.Errorf("%s: %+v, %v", c.dtype, o, err)
		}
	}
}
