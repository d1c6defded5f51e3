package column

import (
	"fmt"
	"strings"
)

// An Encoding is how petastorm, or Hugging Face's library, encodes the arrays or pictures of a
// Binary column.
type Encoding struct {
	// Codec is the class that encodes: "NdarrayCodec", "CompressedNdarrayCodec" and
	// "CompressedImageCodec" of petastorm; "Image" and "Audio", for files of any format and size.
	Codec string
	DType string // numpy's name of the type: "float32"; "" of files
	Shape []int  // -1 for a dimension of any length; nil of files
}

// Picture reports whether values are files of pictures.
func (e *Encoding) Picture() bool { return e.Codec == "Image" || e.Codec == "CompressedImageCodec" }

// Fixed reports whether all values have one shape.
func (e *Encoding) Fixed() bool {
	for _, n := range e.Shape {
		if n < 1 {
			return false
		}
	}
	return len(e.Shape) > 0
}

// String is the encoding in words: "NdarrayCodec, float64 of shape (None, 3)".
func (e *Encoding) String() string {
	if e.Shape == nil {
		return e.Codec
	}
	dims := make([]string, len(e.Shape))
	for i, n := range e.Shape {
		if dims[i] = fmt.Sprint(n); n < 0 {
			dims[i] = "None"
		}
	}
	shape := strings.Join(dims, ", ")
	if len(dims) == 1 {
		shape += ","
	}
	return fmt.Sprintf("%s, %s of shape (%s)", e.Codec, e.DType, shape)
}
